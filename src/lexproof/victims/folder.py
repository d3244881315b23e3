"""Word models as folders: `model.json`, `vocabulary.json`, `weights.safetensors`.

Guarantees: what is saved loads with the same scores and fingerprint (unless weights were rounded to half precision);
a folder is either complete or not there; nothing in it can run code, and a pickle is refused.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lexproof import registry
from lexproof.errors import InputError, ModelError, require
from lexproof.victims.vocabulary import SPECIALS, Vocabulary

if TYPE_CHECKING:
    from torch import Tensor

    from lexproof.victims.word_net import WordSettings
    from lexproof.victims.words import WordVictim

FORMAT = 1
WORD_KINDS = ("mlp", "cnn", "lstm", "bilstm")
PICKLES = (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".bin", ".ckpt", ".dill", ".npy", ".msgpack", ".h5")
"""Ends of names of files that may run code when they are read, or that are no safetensors at any rate."""


def save_words(victim: WordVictim, folder: Path | str, *, half: bool = False) -> None:
    """Write a word model, with weights rounded to half precision if asked; an older model there is replaced."""
    weights = {name: tensor.contiguous() for name, tensor in victim.net.state_dict().items()}
    if half:
        weights = {name: tensor.half() for name, tensor in weights.items()}
        if large := [name for name, tensor in weights.items() if not tensor.isfinite().all()]:
            raise ModelError(f"expected weights within half precision, got larger ones in {large[0]!r}; save in full")
    record = {
        "format": FORMAT,
        "kind": victim.kind,
        "labels": list(victim.labels),
        "config": asdict(victim.settings),
        "training": victim.training,
    }
    with replacing(Path(folder)) as temporary:
        (temporary / "model.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        words = json.dumps([*SPECIALS, *victim.vocabulary.words], indent=0)
        (temporary / "vocabulary.json").write_text(words + "\n", encoding="utf-8")
        write_tensors(weights, temporary / "weights.safetensors")


def write_tensors(tensors: Mapping[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write a file of tensors, or raise ModelError saying why it cannot be written, such as a full disk."""
    safetensors = require("safetensors", "torch", "saving a model")
    writer = require("safetensors.torch", "torch", "saving a model")
    try:
        writer.save_file(dict(tensors), path, metadata)
    except (safetensors.SafetensorError, OSError) as error:
        raise ModelError(f"cannot write {str(path)!r}: {error}") from error


def check_target(folder: Path | str) -> Path:
    """Where a model can be written, as a full path; ModelError if something else is there or it cannot be written."""
    try:
        folder = Path(folder).resolve()
        is_other = folder.is_file() or (folder.is_dir() and any(folder.iterdir()))
        if is_other and not (folder / "model.json").is_file():
            raise ModelError(f"expected a new folder or a model to replace, got {str(folder)!r} with other content")
        above = next(path for path in (folder, *folder.parents) if path.exists())
    except OSError as error:
        raise ModelError(f"cannot write to {str(folder)!r}: {error.strerror}") from error
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise ModelError(f"expected a folder that can be written, got {str(above)!r} above {str(folder)!r}")
    return folder


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """A new folder to write a model into, which takes the place of `folder` when done and vanishes if interrupted.

    An older model stays until the new one is complete.  A folder that is there and empty is filled, not replaced: it
    may be the one that the user is in.
    """
    folder = check_target(folder)
    is_empty = folder.is_dir() and not any(folder.iterdir())
    above = folder if is_empty else folder.parent
    above.mkdir(parents=True, exist_ok=True)
    temporary, old = (above / f".{folder.name}.{os.getpid()}.{kind}" for kind in ("new", "old"))
    temporary.mkdir()
    try:
        yield temporary
        if is_empty:
            _fill(folder, temporary)
            return
        if folder.exists():
            folder.rename(old)
        temporary.rename(folder)
    finally:
        if old.exists() and not folder.exists():
            old.rename(folder)
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _fill(folder: Path, complete: Path) -> None:
    """Move the files of a model into an empty folder, model.json last: without it the folder is no model."""
    names = sorted((path.name for path in complete.iterdir()), key=lambda name: (name == "model.json", name))
    try:
        for name in names:
            (complete / name).rename(folder / name)
    except BaseException:
        for name in names:
            if (folder / name).is_dir():
                shutil.rmtree(folder / name)
            (folder / name).unlink(missing_ok=True)
        raise


def load_words(folder: Path | str) -> WordVictim:
    """The word model that `save_words` wrote, or ModelError saying what is wrong with the folder."""
    folder = Path(folder)
    _refuse_pickles(folder)
    record = read_json(folder / "model.json", dict)
    if record.get("format") != FORMAT:
        raise ModelError(f"expected format {FORMAT} in {_name(folder)}/model.json, got {record.get('format')!r}")
    kind = record.get("kind")
    if kind not in WORD_KINDS:
        raise ModelError(f"expected kind {', '.join(WORD_KINDS)} in {_name(folder)}/model.json, got {kind!r}")
    labels, training = labels_and_training(record, folder)
    require("torch", "torch", "a word model")
    victim_type: type[WordVictim] = registry.get("victims", kind)
    words = read_json(folder / "vocabulary.json", list)
    if tuple(words[: len(SPECIALS)]) != SPECIALS or not all(isinstance(word, str) for word in words):
        raise ModelError(f"expected strings beginning with {', '.join(SPECIALS)} in {_name(folder)}/vocabulary.json")
    try:
        return victim_type(
            Vocabulary(words[len(SPECIALS) :]),
            labels,
            settings=_settings(victim_type.settings_type, record.get("config")),
            weights=_read_weights(folder / "weights.safetensors"),
            training=training,
            name=folder.name,
        )
    except InputError as error:
        raise ModelError(f"cannot load {_name(folder)}: {error}") from error


def labels_and_training(record: Mapping[str, Any], folder: Path) -> tuple[list[str], dict[str, Any]]:
    """The label names of a model.json and what training recorded, or ModelError if they are damaged."""
    labels, training = record.get("labels"), record.get("training", {})
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise ModelError(f"expected labels as a list of strings in {_name(folder)}/model.json, got {labels!r}")
    if not isinstance(training, dict):
        raise ModelError(f"expected training as an object in {_name(folder)}/model.json, got {training!r}")
    return labels, training


def _name(path: Path) -> str:
    return repr(str(path))[1:-1]


def _refuse_pickles(folder: Path) -> None:
    if folder.is_file():
        what = "a pickle, which could run code" if folder.suffix.lower() in PICKLES else "a file"
        raise ModelError(f"expected a model folder with weights.safetensors, got {what}: {_name(folder)}")
    if not folder.is_dir():
        raise ModelError(f"expected a model folder, got {_name(folder)}, which does not exist")
    if not (folder / "weights.safetensors").exists():
        pickles = sorted(path.name for path in folder.iterdir() if path.suffix.lower() in PICKLES)
        if pickles:
            raise ModelError(
                f"expected weights.safetensors in {_name(folder)}, got {pickles[0]}; a pickle could run code: convert"
            )


def read_json(path: Path, wanted: type[Any]) -> Any:
    """The content of a file of a model folder, or ModelError if it is not there, or not JSON of this type."""
    if not path.is_file():
        raise ModelError(f"expected {path.name} in {_name(path.parent)}, got none; is it a folder written by train?")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # covers broken JSON and bytes that are not UTF-8
        raise ModelError(f"expected JSON in {_name(path)}, got {error}") from error
    if not isinstance(content, wanted):
        raise ModelError(f"expected a JSON {wanted.__name__} in {_name(path)}, got {type(content).__name__}")
    return content


def _settings(settings_type: type[WordSettings], config: Any) -> WordSettings:
    names = {field.name for field in fields(settings_type)}
    if not isinstance(config, Mapping) or config.keys() != names:
        got = ", ".join(map(str, config)) if isinstance(config, Mapping) else repr(config)
        raise ModelError(f"expected config with {', '.join(sorted(names))}, got {got}")
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in config.items()}
    return settings_type(**values)


def _read_weights(path: Path) -> dict[str, Tensor]:
    safetensors = require("safetensors", "torch", "a word model")
    reader = require("safetensors.torch", "torch", "a word model")
    if not path.is_file():
        raise ModelError(f"expected {path.name}, got none")
    try:
        weights: dict[str, Tensor] = reader.load_file(path)
    except (safetensors.SafetensorError, OSError) as error:
        raise ModelError(f"expected safetensors in {path.name}, got {error}") from error
    return weights
