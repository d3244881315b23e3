"""A short hash of a Hugging Face model, so that a spec says which weights were used."""

from __future__ import annotations

import hashlib
from pathlib import Path

from lexproof.candidates.files import sha256_of

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
