"""The embedded lexicon: what it promises about its neighbors, and the words one meets in reviews."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter

import pytest

from lexproof import candidates, resources
from lexproof.candidates import filters
from lexproof.candidates.lexicon import Lexicon, embedded
from lexproof.candidates.opposites import Opposites, negates
from lexproof.errors import DataError
from lexproof.text import Text

WORDS = embedded().content["words"].split()


def test_neighbors_are_symmetric_distinct_and_ranked_within_bounds() -> None:
    lexicon = embedded()
    cosines: Counter[frozenset[str]] = Counter()
    for word in WORDS:
        found = lexicon.neighbors(word)
        assert found
        assert word not in dict(found) and len(dict(found)) == len(found)
        for other, cosine in found:
            assert 0.5 <= cosine <= 1
            cosines[frozenset((word, other))] += 1
    assert set(cosines.values()) == {2}


def test_filters_take_nothing_from_the_lexicon() -> None:
    """The default leaves these filters out because the lexicon holds only pairs that pass them."""
    source = candidates.LexiconNeighbors(floor=-1)
    rules = [filters.StopWords(), filters.NoAntonyms(), filters.SamePartOfSpeech(), filters.SameInflection()]
    for word in WORDS[::7]:
        options = tuple(source.substitutes(word))
        for rule in rules:
            assert rule.keep(word, options) == options, (word, rule.spec)


GOOD = {
    "good": "great nice", "bad": "awful terrible", "funny": "amusing comical hilarious", "boring": "dull tedious",
    "film": "movie picture", "movie": "film flick", "watched": "saw viewed", "story": "tale narrative",
    "terrible": "dreadful awful", "beautiful": "lovely gorgeous", "hate": "detest despise",
    "smart": "clever intelligent",
    "stupid": "dumb foolish", "quickly": "rapidly swiftly", "really": "truly actually", "enjoyed": "relished loved",
    "children": "kids youngsters", "characters": "roles", "superb": "brilliant", "clever": "ingenious smart",
    "completely": "totally entirely", "silly": "ridiculous foolish", "strange": "weird odd",
    "wonderful": "marvelous terrific",
}  # fmt: skip


@pytest.mark.parametrize("word", sorted(GOOD))
def test_common_review_words_have_sensible_substitutes(word: str) -> None:
    (options,) = candidates.default()(Text.from_words([word]))
    assert set(GOOD[word].split()) <= set(options)


OPPOSED = [
    ("good", "bad"), ("great", "terrible"), ("love", "hate"), ("loved", "hated"), ("funny", "humorless"),
    ("first", "last"), ("superb", "dreadful"), ("likable", "unlikable"), ("painful", "painless"),
    ("success", "failure"), ("happily", "unhappily"), ("interesting", "boring"), ("beautiful", "ugly"),
    ("best", "worst"), ("rise", "fall"),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), OPPOSED)
def test_antonyms_are_known_both_ways(a: str, b: str) -> None:
    assert embedded().opposed(a, b) and embedded().opposed(b, a)


@pytest.mark.parametrize(("a", "b"), [("good", "great"), ("film", "movie"), ("awful", "terrible"), ("good", "good")])
def test_synonyms_are_no_antonyms(a: str, b: str) -> None:
    assert not embedded().opposed(a, b)


def test_opposites_by_pair_group_and_prefix() -> None:
    same = {frozenset(("fine", "okay"))}
    opposites = Opposites(
        [("up", "down")], [({"good", "fine"}, {"bad", "okay", "poor"})], lambda a, b: frozenset((a, b)) in same
    )
    assert opposites("up", "down") and opposites("down", "up")
    assert opposites("fine", "poor") and opposites("bad", "good")
    assert not opposites("fine", "okay")  # they share a sense
    assert not opposites("good", "fine") and not opposites("up", "bad") and not opposites("up", "up")
    assert negates("happy", "unhappy") and negates("harmless", "harmful") and negates("mortal", "immortal")
    assert not negates("happy", "happy") and not negates("art", "heart") and not negates("full", "less")


def test_synonyms_come_sense_by_sense() -> None:
    lexicon = embedded()
    assert lexicon.synonyms("film", "n")[:3] == ("flick", "movie", "pic")
    assert "movie" not in lexicon.synonyms("film", "v")
    assert lexicon.synonyms("qwxzt", "n") == ()


def test_no_coarse_word_is_offered() -> None:
    offered = set(WORDS)
    assert offered.isdisjoint({"fuck", "shit", "prostitute", "queer", "whore", "rape"})
    assert offered.isdisjoint(embedded().stop_words)


def test_a_lexicon_of_another_format_is_refused() -> None:
    with pytest.raises(DataError, match="expected a lexicon of format 1, got 99; reinstall lexproof"):
        Lexicon({"format": 99}, "")


def test_the_default_is_quick() -> None:
    texts = [Text.parse(row["text"]) for row in resources.reviews()] * 17
    source = candidates.default()
    source(texts[0])
    start = time.process_time()
    for text in texts:
        source(text)
    assert time.process_time() - start < 0.5


def test_loading_takes_no_heavy_package_and_little_time() -> None:
    code = (
        "import sys, time, lexproof as lp\n"
        "start = time.process_time()\n"
        "options = lp.candidates.default()(lp.Text.parse('a good film'))\n"
        "print(time.process_time() - start, {'torch', 'transformers', 'scipy'} & set(sys.modules), options[1][0])"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    seconds, heavy, option = min(run.stdout.split() for run in runs)
    assert float(seconds) < 0.6
    assert heavy == "set()"
    assert option


def test_reviews_are_balanced_and_distinct() -> None:
    rows = resources.reviews()
    assert Counter(row["label"] for row in rows) == {0: 30, 1: 30}
    assert len({row["text"] for row in rows}) == 60
    assert all(7 <= len(Text.parse(row["text"])) <= 30 for row in rows)


def test_notices_are_there() -> None:
    assert "Princeton University" in resources.path("NOTICE-wordnet.txt").read_text(encoding="utf-8")
    assert "GloVe" in resources.path("NOTICE-glove.txt").read_text(encoding="utf-8")
    assert "MIT License" in resources.path("NOTICE-vader.txt").read_text(encoding="utf-8")
