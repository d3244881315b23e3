"""Candidates from one line of text, as the command line takes them: NAME[:FILE][?setting=value&...], joined by |.

    default   default?k=4&floor=0.7   wordnet   table:mine.json   neighbors:glove.npz?k=8&floor=0.6   typos?seed=1
    sememes:hownet.json   masked-lm:FOLDER?masked=0   vocabulary:words.txt   table:mine.json?filters=english | typos?k=2

Every source takes `k`, and as filters `filters` (names separated by commas; `english` for all, `none`), `tagger` and
`similar`, with `window` and `encoder`.  wordnet, neighbors, sememes and masked-lm pass through the English filters
unless `filters` says otherwise (`raw=1` is `filters=none`), default through its own.  Filters apply in this order: stop
words, part of speech, form, antonyms, at most k, names, tagger, similarity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

from lexproof import registry
from lexproof.candidates.base import Source, TextFilter, Union, WordFilter
from lexproof.errors import InputError, UnknownName
from lexproof.space import Candidates

Setting = bool | int | float | str
Given = dict[str, Setting]

_BEFORE_K = ("stop-words", "same-part-of-speech", "same-inflection", "no-antonyms")
_ENGLISH = (*_BEFORE_K, "keep-names")
_IN_CONTEXT = {"tagger": str, "similar": float, "window": int, "encoder": str}
_FILTERS = {"filters": str, "k": int, **_IN_CONTEXT}
_USUALLY_FILTERED = {"raw": bool, **_FILTERS}


@dataclass(frozen=True, slots=True)
class Form:
    """What a name takes: the type of each setting, what its file is, how it is built, and what it keeps if not told."""

    settings: Mapping[str, type]
    file: str | None
    build: Callable[[str, Given], Source]
    filters: tuple[str, ...] = ()
    k: int | None = None


def from_spec(spec: str) -> Candidates:
    """The candidates that a line describes; errors say what was expected."""
    parts = spec.split("|")
    if len(parts) == 1:
        return _one(spec.strip())
    sources = []
    for part in parts:
        made = _one(part.strip())
        if not isinstance(made, Source):
            raise InputError(f"expected sources of lexproof.candidates to join, got the plug-in {part.strip()!r}")
        sources.append(made)
    return Union(*sources)


def _one(spec: str) -> Candidates:
    head, _, query = spec.partition("?")
    name, _, file = head.partition(":")
    if name not in FORMS:
        return _plug_in(name, file, query)
    form = FORMS[name]
    if form.file is not None and not file:
        raise InputError(f"expected {name}:FILE, {form.file}, got {spec!r}")
    if form.file is None and file:
        raise InputError(f"expected no file with candidates {name!r}, got {file!r}")
    settings = _settings(name, query, form)
    filters = list(_filters(form, settings))  # before the source, so that a slip is told before a large file is read
    return form.build(file, settings).filtered(*filters)


def _settings(name: str, query: str, form: Form) -> Given:
    settings: Given = {}
    for pair in filter(None, query.split("&")):
        key, _, value = pair.partition("=")
        if key not in form.settings:
            available = ", ".join(form.settings)
            raise InputError(f"unknown setting {key!r} of candidates {name!r}; available: {available}")
        if key in settings:
            raise InputError(f"expected {key} once, got it twice")
        settings[key] = _value(key, unquote(value), form.settings[key])
    if form.k is not None:
        settings.setdefault("k", form.k)
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


def _filters(form: Form, settings: Given) -> Iterator[WordFilter | TextFilter]:
    from lexproof.candidates import filters

    chosen = _chosen(form, settings)
    made = {
        "stop-words": filters.StopWords,
        "same-part-of-speech": filters.SamePartOfSpeech,
        "same-inflection": filters.SameInflection,
        "no-antonyms": filters.NoAntonyms,
    }
    yield from (made[name]() for name in _BEFORE_K if name in chosen)
    if "k" in settings and "filters" in form.settings:
        yield filters.AtMost(int(settings["k"]))
    if "keep-names" in chosen:
        yield filters.KeepNames()
    yield from _in_context(settings)


def _chosen(form: Form, settings: Given) -> tuple[str, ...]:
    if "filters" not in settings:
        return () if settings.get("raw") else form.filters
    if settings.get("raw"):
        raise InputError("expected raw=1 or filters=..., got both")
    groups = {"english": _ENGLISH, "none": (), **{name: (name,) for name in _ENGLISH}}
    chosen: tuple[str, ...] = ()
    for name in str(settings["filters"]).split(","):
        if name not in groups:
            raise UnknownName("filter", name, groups)
        chosen += groups[name]
    return chosen


def _in_context(settings: Given) -> Iterator[TextFilter]:
    if "tagger" in settings:
        from lexproof.candidates.tagger import spacy_tagger

        yield spacy_tagger(str(settings["tagger"]))
    if "similar" in settings:
        from lexproof.candidates.similarity import SentenceEncoder, SimilarTo

        encoder = SentenceEncoder(str(settings["encoder"]) if "encoder" in settings else None)
        window = int(settings["window"]) if "window" in settings else None
        yield SimilarTo(encoder, floor=float(settings["similar"]), window=window)
        return
    for name in ("window", "encoder"):
        if name in settings:
            raise InputError(f"expected similar=FLOOR with {name}, got none")


def _default(file: str, settings: Given) -> Source:
    from lexproof.candidates import default

    return default(k=int(settings.get("k", 8)), floor=float(settings.get("floor", 0.6)))


def _wordnet(file: str, settings: Given) -> Source:
    from lexproof.candidates.wordnet import WordNet

    return WordNet()


def _neighbors(file: str, settings: Given) -> Source:
    from lexproof.candidates.neighbors import Neighbors

    return Neighbors.load(file, k=_wide(settings, 8), floor=float(settings.get("floor", 0.5)))


def _wide(settings: Given, factor: int) -> int:
    # filters take some away, so more are asked for than are kept
    raw = settings.get("raw") or settings.get("filters") == "none"
    return int(settings["k"]) * (1 if raw else factor)


def _table(file: str, settings: Given) -> Source:
    from lexproof.candidates.table import Table

    return Table.load(file)


def _typos(file: str, settings: Given) -> Source:
    from lexproof.candidates.typos import KINDS, Typos

    kinds = str(settings["kinds"]).split(",") if "kinds" in settings else KINDS
    numbers = {key: int(settings[key]) for key in ("per_word", "min_length", "seed") if key in settings}
    return Typos(kinds=kinds, **numbers)


def _vocabulary(file: str, settings: Given) -> Source:
    from lexproof.candidates.vocabulary import Vocabulary

    return Vocabulary.load(file)


def _sememes(file: str, settings: Given) -> Source:
    from lexproof.candidates.sememes import Sememes

    return Sememes.load(file)


def _masked_lm(file: str, settings: Given) -> Source:
    from lexproof.candidates.cache import Cached
    from lexproof.candidates.masked_lm import MaskedLM

    return Cached(MaskedLM(file, k=_wide(settings, 4), masked=bool(settings.get("masked", True))))


FORMS: Mapping[str, Form] = {
    "default": Form({"k": int, "floor": float, **_IN_CONTEXT}, None, _default),
    "wordnet": Form(_USUALLY_FILTERED, None, _wordnet, _ENGLISH, 8),
    "neighbors": Form(
        {"floor": float, **_USUALLY_FILTERED}, "an .npz or text file of word vectors", _neighbors, _ENGLISH, 8
    ),
    "table": Form(_FILTERS, "a JSON file of word: [substitutes]", _table),
    "typos": Form({"kinds": str, "per_word": int, "min_length": int, "seed": int, **_FILTERS}, None, _typos),
    "vocabulary": Form(_FILTERS, "a text file with one word a line", _vocabulary),
    "sememes": Form(_USUALLY_FILTERED, "a JSON file of word: {part of speech: senses or words}", _sememes, _ENGLISH, 8),
    "masked-lm": Form(
        {"masked": bool, **_USUALLY_FILTERED}, "a masked language model folder or name", _masked_lm, _ENGLISH, 8
    ),
}
"""What each built-in name takes."""
