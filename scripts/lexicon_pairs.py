"""Which lemmas WordNet relates and how closely, which it opposes, and which words are too coarse to offer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import combinations, product
from typing import NamedTuple

from lexicon_words import usable
from princeton import Database, Key

SAME, NEAR, COUSIN = 0, 1, 2
"""How two lemmas are related: one synset; a pointer (similar, broader, see also, verb group); one pointer further."""

_SIBLINGS_LIMIT = 40  # kinds of one verb beyond which being two of them means nothing

Members = Mapping[Key, Collection[str]]


class Relation(NamedTuple):
    """How lemma a and lemma b (a < b) are related, and the rank of the sense of each that it is about."""

    kind: int
    rank_a: int
    rank_b: int


Relations = dict[tuple[str, str, str], set[Relation]]


def coarse(database: Database) -> tuple[set[str], set[Key]]:
    """Words whose first sense WordNet marks as an obscenity or slur, and the synsets that are marked or hold one."""
    marks = {"obscenity", "dirty_word", "ethnic_slur"}
    marked = {
        synset.key
        for synset in database.synsets.values()
        for pointer in synset.pointers
        if pointer.symbol == ";u" and marks.intersection(database.synsets[pointer.key].words)
    }
    words = {
        lemma
        for senses in database.senses.values()
        for lemma, keys in senses.items()
        if keys[0] in marked and usable(lemma)
    }
    return words, marked | {key for key, synset in database.synsets.items() if words.intersection(synset.words)}


def members(database: Database, known: Mapping[str, Collection[str]], avoided: Collection[Key]) -> dict[Key, list[str]]:
    """The usable words of each synset."""
    return {
        key: [] if key in avoided else [word for word in synset.words if word in known[key[0]]]
        for key, synset in database.synsets.items()
    }


def related(database: Database, of: Members) -> Relations:
    """All pairs of lemmas that are near each other in WordNet."""
    found: Relations = defaultdict(set)
    ranks = {
        (lemma, key): rank
        for senses in database.senses.values()
        for lemma, keys in senses.items()
        for rank, key in enumerate(keys)
    }

    def add(kind: int, here: Key, there: Key) -> None:
        pairs = combinations(of[here], 2) if here == there else product(of[here], of[there])
        for a, b in pairs:
            _put(found, here[0], (a, ranks[a, here]), (b, ranks[b, there]), kind)

    for key, synset in database.synsets.items():
        add(SAME, key, key)
        for pointer in synset.pointers:
            if pointer.symbol in ("&", "@", "^", "$") and pointer.key[0] == key[0]:
                add(NEAR, key, pointer.key)
    for keys in _families(database):
        for here, there in combinations(keys, 2):
            add(COUSIN, here, there)
    _add_adverbs(database, of, found)
    return found


def _put(found: Relations, pos: str, a: tuple[str, int], b: tuple[str, int], kind: int) -> None:
    if a[0] != b[0]:
        (x, rank_x), (y, rank_y) = sorted((a, b))
        found[pos, x, y].add(Relation(kind, rank_x, rank_y))


def _families(database: Database) -> Iterator[list[Key]]:
    # adjectives around one head, and kinds of one verb
    heads: defaultdict[Key, list[Key]] = defaultdict(list)
    for key, synset in database.synsets.items():
        for pointer in synset.pointers:
            if (key[0], pointer.symbol) in (("a", "&"), ("v", "@")):
                heads[pointer.key].append(key)
    for head, keys in heads.items():
        if head[0] == "a" or len(keys) <= _SIBLINGS_LIMIT:
            yield keys


def _add_adverbs(database: Database, of: Members, found: Relations) -> None:
    # adverbs are related as the adjectives that they come from, one step less closely
    adverbs: defaultdict[str, set[str]] = defaultdict(set)
    for key, synset in database.synsets.items():
        for pointer in synset.pointers:
            if key[0] == "r" and pointer.symbol == "\\" and synset.words[pointer.source - 1] in of[key]:
                adverbs[database.synsets[pointer.key].words[pointer.target - 1]].add(synset.words[pointer.source - 1])
    for (pos, a, b), relations in list(found.items()):
        if pos == "a":
            for x, y in product(adverbs.get(a, ()), adverbs.get(b, ())):
                for kind, rank_a, rank_b in relations:
                    _put(found, "r", (x, rank_a), (y, rank_b), min(kind + 1, COUSIN))


def antonyms(database: Database) -> set[tuple[str, str]]:
    """Listed pairs of antonyms, and the pairs of one part of speech that are derived from their two ends."""
    derived: defaultdict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    listed = []
    for key, synset in database.synsets.items():
        for pointer in synset.pointers:
            if pointer.symbol not in ("!", "+", "\\") or not pointer.source or not pointer.target:
                continue
            here = (key[0], synset.words[pointer.source - 1])
            there = (pointer.key[0], database.synsets[pointer.key].words[pointer.target - 1])
            if not usable(here[1]) or not usable(there[1]):
                continue
            if pointer.symbol == "!":
                listed.append((here, there))
            else:
                derived[here].add(there)
                derived[there].add(here)
    pairs = set()
    for here, there in listed:
        for (pos_a, a), (pos_b, b) in product(derived[here] | {here}, derived[there] | {there}):
            if pos_a == pos_b and a != b:
                pairs.add((min(a, b), max(a, b)))
    return pairs


def opposed(database: Database, of: Members) -> list[tuple[list[str], list[str]]]:
    """What lies around the two ends of each antonymy: their synsets, and the adjectives or verbs hung on them."""
    hung: defaultdict[Key, list[Key]] = defaultdict(list)
    for key, synset in database.synsets.items():
        for pointer in synset.pointers:
            if (key[0], pointer.symbol) in (("a", "&"), ("v", "@")):
                hung[pointer.key].append(key)
    groups = set()
    for key, synset in database.synsets.items():
        for pointer in synset.pointers:
            if pointer.symbol == "!" and pointer.key[0] == key[0] and key < pointer.key:
                sides = ({word for at in (end, *hung[end]) for word in of[at]} for end in (key, pointer.key))
                left, right = (tuple(sorted(side)) for side in sides)
                if left and right:
                    groups.add((left, right))
    return [(list(left), list(right)) for left, right in sorted(groups)]
