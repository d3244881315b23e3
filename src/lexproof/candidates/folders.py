"""Hugging Face models: loaded from safetensors and whole, and a short hash that says which weights were used."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lexproof.candidates.files import sha256_of
from lexproof.errors import ModelError, require
from lexproof.victims.transformer_folder import is_offline, reading

_READ = ("*.safetensors", "*.json", "*.txt", "*.model", "*.bin")


def fingerprint_of(model: str | Path) -> str:
    """Hash of the files of a model folder; a name on the hub is its own fingerprint."""
    folder = Path(model)
    if not folder.is_dir():
        return str(model)
    digest = hashlib.sha256()
    for file in sorted({file for pattern in _READ for file in folder.glob(pattern)}):
        digest.update(f"{file.name}:{sha256_of(file)}\n".encode())
    return digest.hexdigest()[:16]


def load(
    model: str, auto_class: str, *, what: str, spare: Callable[[str], bool] = lambda name: False
) -> tuple[Any, Any]:
    """Tokenizer and model of a folder or name, never from a pickle; ModelError if weights that are not `spare` lack.

    transformers would fill them with random numbers.
    """
    transformers = require("transformers", "transformers", what)
    stored = Path(model).is_dir() or is_offline()
    with reading(transformers, f"expected {what} folder or name, got {model!r}"):
        tokenizer = transformers.AutoTokenizer.from_pretrained(model, local_files_only=stored)
        loaded, info = getattr(transformers, auto_class).from_pretrained(
            model, use_safetensors=True, output_loading_info=True, local_files_only=stored
        )
    missing = sorted(name for name in info["missing_keys"] if not spare(name))
    if missing:
        raise ModelError(f"expected a trained model in {model!r}, got no weights for {', '.join(missing)}")
    return tokenizer, loaded.eval()
