"""Transformer folders: read with transformers from safetensors, written whole or not at all."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from lexproof.errors import ModelError, require
from lexproof.victims.folder import FORMAT, PICKLES, labels_and_training, replacing

_UNSET_LIMIT = 1_000_000  # tokenizers that know no limit store a huge number


@dataclass(frozen=True, slots=True)
class Parts:
    """What a folder holds: model, tokenizer, label names, and what training recorded."""

    model: Any
    tokenizer: Any
    labels: tuple[str, ...]
    max_length: int | None
    training: Mapping[str, Any]


def length_limit(parts: Parts) -> int:
    """The most tokens that tokenizer and model can take."""
    known = [parts.tokenizer.model_max_length]
    positions = getattr(parts.model.config, "max_position_embeddings", None)
    if positions:
        known.append(positions - _first_position(parts.model))
    usable = [limit for limit in known if limit < _UNSET_LIMIT]
    return min(usable) if usable else 512


def _first_position(model: Any) -> int:
    """Where positions are counted from: models of the RoBERTa family leave out those up to the padding token's id."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(module.padding_idx) + 1
    return 0


def read_parts(source: str | Path) -> Parts:
    """Load a folder, or a name from the hub; anything that cannot be used is a ModelError of one line."""
    folder = Path(source)
    local = folder.is_dir()
    recorded = _check_folder(folder) if local else {}
    transformers = require("transformers", "transformers", "a transformer victim")
    offline = not local and is_offline()
    where = {"local_files_only": local or offline, "trust_remote_code": False}
    hint = " (no network, and it is not in the cache)" if offline else ""
    with reading(transformers, f"cannot load {str(source)!r} as a sequence classifier{hint}"):
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, **where)
        model, info = transformers.AutoModelForSequenceClassification.from_pretrained(
            source, use_safetensors=True, output_loading_info=True, **where
        )
    if info["missing_keys"]:
        missing = ", ".join(sorted(info["missing_keys"]))
        raise ModelError(
            f"expected a trained classifier in {str(source)!r}, got no weights for {missing}; fine-tune it first"
        )
    names = model.config.id2label
    if not recorded:
        labels = tuple(str(names.get(k, k)) for k in range(model.config.num_labels))
        return Parts(model, tokenizer, labels, None, {})
    found, training = labels_and_training(recorded, folder)
    return Parts(model, tokenizer, tuple(found), _max_length(recorded, folder), training)


def _max_length(recorded: Mapping[str, Any], folder: Path) -> int | None:
    config = recorded.get("config")
    if not isinstance(config, dict):
        raise ModelError(f"expected config as an object in {str(folder / 'model.json')!r}, got {config!r}")
    found = config.get("max_length")
    if found is not None and (type(found) is not int or found < 1):
        raise ModelError(f"expected max_length as a whole number in {str(folder / 'model.json')!r}, got {found!r}")
    return found


def is_offline() -> bool:
    """Whether the hub's address cannot be resolved; asked first, because its own client retries for minutes."""
    if getproxies():
        return False
    address = require("huggingface_hub", "transformers", "a Hugging Face name").constants.ENDPOINT
    try:
        socket.getaddrinfo(urlsplit(address).hostname, None)
    except OSError:
        return True
    return False


def _check_folder(folder: Path) -> dict[str, Any]:
    """What model.json records, nothing in a plain Hugging Face folder; ModelError if weights are not safetensors."""
    names = {path.name for path in folder.iterdir()}
    if "config.json" not in names:
        raise ModelError(
            f"expected config.json in {str(folder)!r}, got {', '.join(sorted(names)) or 'an empty folder'}"
        )
    if not any(name.startswith("model") and ".safetensors" in name for name in names):
        pickles = sorted(name for name in names if Path(name).suffix.lower() in PICKLES)
        if pickles:
            raise ModelError(
                f"expected weights as safetensors in {str(folder)!r}, got {pickles[0]}, which is refused because a "
                "pickle can run code; save the model again with safe_serialization=True"
            )
        raise ModelError(f"expected model.safetensors in {str(folder)!r}, got no weights")
    if "model.json" not in names:
        return {}
    try:
        recorded = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError(f"expected JSON in {str(folder / 'model.json')!r}, got {error}") from error
    if not isinstance(recorded, dict) or recorded.get("format") != FORMAT:
        raise ModelError(
            f"expected format {FORMAT} in {str(folder / 'model.json')!r}; was it written by a newer version?"
        )
    labels_and_training(recorded, folder)  # before the weights, which take longer
    _max_length(recorded, folder)
    return recorded


def write_parts(parts: Parts, folder: Path) -> None:
    """Write model, tokenizer and model.json; an older model there is replaced."""
    record = {
        "format": FORMAT,
        "kind": "transformer",
        "labels": list(parts.labels),
        "config": {"max_length": parts.max_length},
        "training": dict(parts.training),
    }
    parts.model.config.id2label = dict(enumerate(parts.labels))
    parts.model.config.label2id = {label: k for k, label in enumerate(parts.labels)}
    with replacing(folder) as temporary, quiet(require("transformers", "transformers", "a transformer victim")):
        parts.model.save_pretrained(temporary)
        parts.tokenizer.save_pretrained(temporary)
        (temporary / "model.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


@contextmanager
def quiet(transformers: Any) -> Iterator[None]:
    """Keep transformers from writing reports and progress bars; its settings are put back."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def reading(transformers: Any, problem: str) -> Iterator[None]:
    """Read with transformers, quietly; whatever it raises becomes a ModelError of one line, `problem: reason`."""
    with quiet(transformers):
        try:
            yield
        except Exception as error:  # third-party readers raise anything, bare Exception included
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise ModelError(f"{problem}: {reason}") from error
