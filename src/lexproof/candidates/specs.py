"""Candidates from one line of text, as the command line takes them: NAME[:FILE][?setting=value&...].

    default   default?k=4&floor=0.7   wordnet   table:mine.json   neighbors:glove.npz?k=8&floor=0.6   typos?seed=1
    sememes:hownet.json   masked-lm:FOLDER?masked=0   vocabulary:words.txt

wordnet, neighbors, sememes and masked-lm pass through the English filters (stop words, antonyms, part of speech, form,
at most k, names) unless `raw=1`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from lexproof import registry
from lexproof.candidates.base import Source
from lexproof.errors import InputError
from lexproof.space import Candidates

Setting = bool | int | float | str


@dataclass(frozen=True, slots=True)
class _Form:
    """What a name takes: the type of each setting, what its file is, and how it is built."""

    settings: Mapping[str, type]
    file: str | None
    build: Callable[[str, dict[str, Setting]], Source]


def from_spec(spec: str) -> Candidates:
    """The candidates that a line describes; errors say what was expected."""
    head, _, query = spec.partition("?")
    name, _, file = head.partition(":")
    forms = _forms()
    if name not in forms:
        return _plug_in(name, file, query)
    form = forms[name]
    if form.file is not None and not file:
        raise InputError(f"expected {name}:FILE, {form.file}, got {spec!r}")
    if form.file is None and file:
        raise InputError(f"expected no file with candidates {name!r}, got {file!r}")
    return form.build(file, _settings(name, query, form.settings))


def _settings(name: str, query: str, types: Mapping[str, type]) -> dict[str, Setting]:
    settings: dict[str, Setting] = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        if key not in types:
            raise InputError(f"unknown setting {key!r} of candidates {name!r}; available: {', '.join(types) or 'none'}")
        settings[key] = _value(key, value, types[key])
    return settings


def _value(key: str, value: str, kind: type) -> Setting:
    if kind is bool:
        if value not in ("0", "1"):
            raise InputError(f"expected {key}=0 or {key}=1, got {value!r}")
        return value == "1"
    try:
        converted: Setting = kind(value)
    except ValueError as error:
        raise InputError(f"expected {key} to be a number, got {value!r}") from error
    return converted


def _plug_in(name: str, file: str, query: str) -> Candidates:
    # its own constructor checks what it is given; an unknown name is reported with those that there are
    constructor = registry.get("candidates", name)
    built: Candidates = constructor(*([file] if file else []), **dict(parse_qsl(query)))
    return built


def _forms() -> dict[str, _Form]:
    filtered = {"k": int, "raw": bool}
    return {
        "default": _Form({"k": int, "floor": float}, None, _default),
        "wordnet": _Form(filtered, None, _wordnet),
        "neighbors": _Form({**filtered, "floor": float}, "an .npz or text file of word vectors", _neighbors),
        "table": _Form({}, "a JSON file of word: [substitutes]", _table),
        "typos": _Form({"kinds": str, "per_word": int, "min_length": int, "seed": int}, None, _typos),
        "vocabulary": _Form({}, "a text file with one word a line", _vocabulary),
        "sememes": _Form(filtered, "a JSON file of word: {part of speech: senses or words}", _sememes),
        "masked-lm": _Form({**filtered, "masked": bool}, "a masked language model folder or name", _masked_lm),
    }


def _english(source: Source, k: Setting, *, raw: Setting) -> Source:
    from lexproof.candidates import filters

    at_most = filters.AtMost(int(k))
    if raw:
        return source.filtered(at_most)
    return source.filtered(
        filters.StopWords(),
        filters.SamePartOfSpeech(),
        filters.SameInflection(),
        filters.NoAntonyms(),
        at_most,
        filters.KeepNames(),
    )


def _default(file: str, settings: dict[str, Setting]) -> Source:
    from lexproof.candidates import default

    return default(k=int(settings.get("k", 8)), floor=float(settings.get("floor", 0.6)))


def _wordnet(file: str, settings: dict[str, Setting]) -> Source:
    from lexproof.candidates.wordnet import WordNet

    return _english(WordNet(), settings.get("k", 8), raw=settings.get("raw", False))


def _neighbors(file: str, settings: dict[str, Setting]) -> Source:
    from lexproof.candidates.neighbors import Neighbors

    k, raw = int(settings.get("k", 8)), settings.get("raw", False)
    # filters take some away, so more are asked for than are kept
    wide = Neighbors.load(file, k=k if raw else 8 * k, floor=float(settings.get("floor", 0.5)))
    return _english(wide, k, raw=raw)


def _table(file: str, settings: dict[str, Setting]) -> Source:
    from lexproof.candidates.table import Table

    return Table.load(file)


def _typos(file: str, settings: dict[str, Setting]) -> Source:
    from lexproof.candidates.typos import KINDS, Typos

    kinds = str(settings["kinds"]).split(",") if "kinds" in settings else KINDS
    numbers = {key: int(value) for key, value in settings.items() if key != "kinds"}
    return Typos(kinds=kinds, **numbers)


def _vocabulary(file: str, settings: dict[str, Setting]) -> Source:
    from lexproof.candidates.vocabulary import Vocabulary

    return Vocabulary.load(file)


def _sememes(file: str, settings: dict[str, Setting]) -> Source:
    from lexproof.candidates.sememes import Sememes

    return _english(Sememes.load(file), settings.get("k", 8), raw=settings.get("raw", False))


def _masked_lm(file: str, settings: dict[str, Setting]) -> Source:
    from lexproof.candidates.cache import Cached
    from lexproof.candidates.masked_lm import MaskedLM

    k, raw = int(settings.get("k", 8)), settings.get("raw", False)
    model = MaskedLM(file, k=k if raw else 4 * k, masked=bool(settings.get("masked", True)))
    return _english(Cached(model), k, raw=raw)
