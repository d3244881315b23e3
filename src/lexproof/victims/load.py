"""Load: a victim from whatever names it.

| spec | victim |
|---|---|
| `movies-cnn` | a model that the package carries |
| a folder with `model.json` | what `train` or `harden` wrote |
| a folder with `config.json` | a Hugging Face sequence classifier |
| `module:name` or `file.py:name` | a function from texts to scores or labels, a fitted pipeline, a victim, or a maker |
| `http://…` or `https://…` | an endpoint |
| anything else, such as `owner/model` | a Hugging Face name (needs network) |

A maker is a function without arguments.  A pickle is refused, by its name and by its content, because reading one
can run code.
"""

from __future__ import annotations

import inspect
import json
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lexproof.errors import ModelError, require
from lexproof.victims.base import Victim, check_scores
from lexproof.victims.blackbox import BlackBox, import_function, is_function_spec
from lexproof.victims.folder import PICKLES
from lexproof.victims.labels import LabelOnly

_SMOOTHED = ("safer", "ranmask")  # kinds whose folder holds another in it
_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")


def embedded() -> dict[str, Path]:
    """The models that the package carries, by name."""
    models = Path(__file__).parent.parent / "resources" / "models"
    return {path.parent.name: path.parent for path in sorted(models.glob("*/model.json"))}


def load(spec: str | Path, *, labels: Sequence[str] | None = None, label_only: bool = False, **settings: Any) -> Victim:
    """The victim that `spec` names; `labels` and further settings go to its constructor.

    With `label_only` a function or service returns labels instead of scores; of any other victim the scores are hidden.
    """
    text = str(spec)
    if label_only and (is_function_spec(text) or _is_address(text)):
        settings["scores"] = False
    victim = _load(text, labels, settings)
    return LabelOnly(victim) if label_only and victim.has_scores else victim


def _is_address(text: str) -> bool:
    return text.startswith(("http://", "https://"))


def _load(text: str, labels: Sequence[str] | None, settings: dict[str, Any]) -> Victim:
    path = Path(text).expanduser()
    if text in embedded():
        return _load_folder(embedded()[text], labels, settings)
    if text and path.is_dir():
        return _load_folder(path, labels, settings)
    if path.is_file():
        _refuse_file(path)
    if _is_address(text):
        return _load_endpoint(text, labels, settings)
    if is_function_spec(text):
        return victim_of(import_function(text), text, labels, **settings)
    if path.suffix.lower() in PICKLES or not _HUB_NAME.fullmatch(text):
        raise ModelError(f"expected a model, got {text!r}, which is not there; {_what_works()}")
    try:
        return _load_transformer(text, labels, settings)
    except ModelError as error:
        raise ModelError(f"{error}; {_what_works()}") from error


def victim_of(thing: Any, spec: str, labels: Sequence[str] | None = None, **settings: Any) -> Victim:
    """The victim made of an imported object; a function that needs no argument is called first."""
    if inspect.isfunction(thing) and not _required(thing):
        try:
            thing = thing()
        except Exception as error:  # the function is foreign code and may raise anything
            raise ModelError(f"{spec!r} raised {type(error).__name__}: {error}") from error
    if isinstance(thing, Victim):
        return thing
    if _is_pipeline(thing):
        from lexproof.victims.sklearn import Sklearn

        return Sklearn(thing, labels, **{"name": spec, **settings})
    if not callable(thing):
        raise ModelError(f"expected a function, a pipeline or a victim in {spec!r}, got {type(thing).__name__}")
    labels = labels or getattr(thing, "labels", None)
    if labels is None and not settings.get("scores", True):
        raise ModelError(f"expected label names for {spec!r}, which returns labels, got none; {_NAME_THEM}")
    return BlackBox(thing, labels or _count_labels(thing, spec), **{"name": spec, **settings})


_NAME_THEM = "pass labels=[...] or --labels, or set function.labels = [...]"


def _is_pipeline(thing: Any) -> bool:
    if hasattr(thing, "predict_proba") or hasattr(thing, "decision_function"):
        return True
    return hasattr(thing, "predict") and not callable(thing)


def _count_labels(function: Any, spec: str) -> list[str]:
    """Labels 0, 1, … for a function that names none: as many as it gives scores to one short text."""
    try:
        found = function(["a"])
    except Exception as error:  # the function is foreign code and may raise anything
        raise ModelError(
            f"expected label names for {spec!r}, got none, and asking it about one text raised {type(error).__name__}: "
            f"{error}; set function.labels = [...]"
        ) from error
    return list(map(str, range(check_scores(found, 1, None, repr(spec)).shape[1])))


def _required(function: Any) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    positional = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.VAR_POSITIONAL,
    )
    return [p.name for p in parameters if p.kind in positional and p.default is p.empty]


def _load_folder(folder: Path, labels: Sequence[str] | None, settings: dict[str, Any]) -> Victim:
    record = folder / "model.json"
    if record.is_file():
        kind = _kind_of(record)
        if kind in _SMOOTHED:
            from lexproof.victims.smoothed_folder import load_smoothed

            return _relabelled(load_smoothed(folder, lambda base: _load_folder(base, None, {}), **settings), labels)
        if kind != "transformer":
            require("torch", "torch", f"a {kind} victim")
            from lexproof.victims.folder import load_words

            if settings:
                raise ModelError(f"expected no settings for a {kind} model, got {', '.join(settings)}")
            return _relabelled(load_words(folder), labels)
    elif not (folder / "config.json").is_file():
        names = sorted(path.name for path in folder.iterdir())
        refused = next((name for name in names if Path(name).suffix.lower() in PICKLES), None)
        if refused:
            raise ModelError(_refusal(str(folder / refused)))
        raise ModelError(
            f"expected model.json or config.json in {str(folder)!r}, got {', '.join(names) or 'an empty folder'}"
        )
    return _load_transformer(folder, labels, settings)


def _relabelled(victim: Victim, labels: Sequence[str] | None) -> Victim:
    if labels is not None and len(labels) != victim.classes:
        raise ModelError(f"expected {victim.classes} labels, got {len(labels)}")
    victim.labels = victim.labels if labels is None else tuple(labels)
    return victim


def _kind_of(record: Path) -> str:
    try:
        content = json.loads(record.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError(f"expected JSON in {str(record)!r}, got {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("kind"), str):
        raise ModelError(f"expected an object with 'kind' in {str(record)!r}")
    return str(content["kind"])


def _load_transformer(source: str | Path, labels: Sequence[str] | None, settings: dict[str, Any]) -> Victim:
    require("torch", "transformers", "a transformer victim")
    from lexproof.victims.transformer import Transformer

    return Transformer(source, labels, **settings)


def _load_endpoint(url: str, labels: Sequence[str] | None, settings: dict[str, Any]) -> Victim:
    from lexproof.victims.endpoint import Endpoint

    return Endpoint.discover(url, **settings) if labels is None else Endpoint(url, labels, **settings)


def _refuse_file(path: Path) -> None:
    """A single file is never a model here; say why, and what would work."""
    if path.suffix.lower() in PICKLES or _is_pickle(path):
        raise ModelError(_refusal(str(path)))
    if path.suffix == ".py":
        raise ModelError(f"expected a function name too, got {str(path)!r}; write {path.name}:function")
    raise ModelError(f"expected a model folder, got the file {str(path)!r}; {_what_works()}")


def _is_pickle(path: Path) -> bool:
    """Whether a file starts as a binary pickle does, or is an archive that holds one, as torch writes."""
    with path.open("rb") as file:
        head = file.read(2)
    if len(head) == 2 and head[0] == 0x80 and head[1] <= 5:
        return True
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(name.endswith(".pkl") for name in archive.namelist())


def _refusal(path: str) -> str:
    return (
        f"expected safetensors or a function, got {path!r}: a pickle is refused because reading one can run code; "
        "for scikit-learn write a file.py with a function that returns the pipeline and pass file.py:function"
    )


def _what_works() -> str:
    names = ", ".join(embedded()) or "none in this build"
    return (
        f"what works: an embedded model ({names}), a folder written by train, a Hugging Face folder or name, "
        "module:function, file.py:function, or http(s)://…"
    )
