"""Reading the JSON and text files that candidates come from, with errors that say what is wrong with them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lexproof.errors import DataError, InputError


def read_text(path: str | Path, what: str) -> str:
    """The text of a UTF-8 file; a byte order mark is dropped."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise DataError(f"expected {what}, got {str(path)!r}, which cannot be read: {reason}") from error


def read_object(path: str | Path, what: str) -> dict[str, Any]:
    """The JSON object of a file."""
    text = read_text(path, what)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:  # not JSON, an integer of thousands of digits, nested too deeply
        raise DataError(f"expected {what}, got {str(path)!r}, which is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise DataError(f"expected {what}, got a JSON {type(content).__name__} in {str(path)!r}")
    return content


def sha256_of(path: str | Path) -> str:
    """SHA-256 of a file's bytes."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_of_json(content: object) -> str:
    """SHA-256 of a value; the order of its keys counts, since substitutes come in the order of the entries."""
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def check_unicode(values: Iterable[str], what: str) -> None:
    """Refuse strings that cannot be written in UTF-8."""
    for value in values:
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"expected Unicode text for {what}, got {value!r}, which holds a lone surrogate"
            ) from error
