"""Certificates as JSON: what is written is read again, and what is not a certificate is said to be none."""

import copy
import json

import pytest
from tables import VICTIMS

import lexproof as lp
from lexproof.certificates import export_certificate, read_certificate
from lexproof.errors import InputError

SPACE = lp.Space(lp.Text.parse("w1, w2 w3", premise="w0"), [["w1s0", "w1s1"], [], ["w3s0"]], 2)


@pytest.fixture(scope="module")
def record():
    victim = lp.BlackBox(lambda pairs: [[0.2, 0.8]] * len(pairs), labels=["a", "b"])
    return export_certificate(lp.prove(victim, SPACE, label=1), SPACE)


def test_round_trip(record):
    stated = read_certificate(json.loads(json.dumps(record)))
    assert stated.space.fingerprint == SPACE.fingerprint
    assert stated.space.original == SPACE.original
    certificate = stated.certificate
    assert (certificate.label, certificate.target, certificate.radius) == (1, None, 2)
    assert [(step.method, step.first, step.last, step.points) for step in certificate.steps] == [
        ("enumeration", 0, 2, 6)
    ]
    assert record["format"] == "lexproof-certificate"


def test_only_answers_with_certificates_have_one():
    with pytest.raises(InputError, match="expected an answer with a certificate, got 'unknown'; prove or minimize may"):
        export_certificate(lp.Unknown(reason="time"), SPACE)


def test_a_condition_on_whole_texts_cannot_be_written():
    space = lp.Space(SPACE.original, SPACE.choices, 0, predicate=lambda texts: [True] * len(texts))
    answer = lp.prove(VICTIMS["blackbox"](), SPACE.restrict(max_swaps=0))
    with pytest.raises(InputError, match="got one with a condition on whole texts, which a certificate cannot hold"):
        export_certificate(answer, space)


def test_the_space_must_be_that_of_the_certificate():
    answer = lp.prove(VICTIMS["blackbox"](), SPACE.restrict(max_swaps=0))
    with pytest.raises(InputError, match=r"expected the space .* of the certificate, got"):
        export_certificate(answer, SPACE)


def edit(path, value):
    def apply(record):
        *way, last = path
        for key in way:
            record = record[key]
        if value is KeyError:
            del record[last]
        else:
            record[last] = value

    return apply


BAD = {
    "expected format 'lexproof-certificate' version 1, got 'x' version 1": edit(["format"], "x"),
    "version 1, got 'lexproof-certificate' version 2": edit(["version"], 2),
    "version 1, got 'lexproof-certificate' version True": edit(["version"], True),
    "expected a certificate with .*, missing radius": edit(["radius"], KeyError),
    "expected text with gaps, premise, words, missing gaps": edit(["text", "gaps"], KeyError),
    "expected text to be a JSON object, got 'w1'": edit(["text"], "w1"),
    "expected words to be an array, got 'w1'": edit(["text", "words"], "w1"),
    "expected each of words to be a string, got 3": edit(["text", "words", 0], 3),
    "expected premise to be a string, got a list": edit(["text", "premise"], []),
    "expected 4 gaps for 3 words, got 0": edit(["text", "gaps"], []),
    "expected choices to be an array, got None": edit(["choices"], None),
    "expected substitutes for 3 words, got 0 lists": edit(["choices"], []),
    "expected substitutes other than the word itself": edit(["choices", 0], ["w1"]),
    "expected a text and substitutes with fingerprint .*, got": edit(["choices", 0], ["w1s0"]),
    "expected max_swaps to be a whole number from 0 to 3, got a number of many digits": edit(["max_swaps"], 10**400),
    "expected radius to be a whole number from 0 to 2, got 3": edit(["radius"], 3),
    "expected radius to be a whole number from 0 to 2, got 2.0": edit(["radius"], 2.0),
    "expected label to be a whole number of at least 0, got -1": edit(["label"], -1),
    "expected label to be a whole number of at least 0, got True": edit(["label"], True),
    "expected target to be a whole number of at least 0, got '0'": edit(["target"], "0"),
    "expected rounding to be a finite number, got nan": edit(["rounding"], float("nan")),
    "expected rounding to be a finite number, got a number of many digits": edit(["rounding"], 10**400),
    "expected rounding of at least 0, got -1": edit(["rounding"], -1),
    "expected victim to be a string, got a dict": edit(["victim"], {}),
    "expected space to be a string, got 0": edit(["space"], 0),
    "expected steps to be an array, got a dict": edit(["steps"], {}),
    "expected steps up to 2 swaps, got steps up to -1": edit(["steps"], []),
    "expected a step to be a JSON object, got 1": edit(["steps", 0], 1),
    "expected a step with .*, missing detail": edit(["steps", 0, "detail"], KeyError),
    "expected a method out of enumeration, .*, got 'faith'": edit(["steps", 0, "method"], "faith"),
    r"expected a method out of enumeration, .*, got \[\]": edit(["steps", 0, "method"], []),
    "expected a step from 0 swaps on, got one from 1 to 2": edit(["steps", 0, "first"], 1),
    "expected steps up to 2 swaps, got steps up to 1": edit(["steps", 0, "last"], 1),
    "expected margin to be a finite number, got inf": edit(["steps", 0, "margin"], float("inf")),
    "expected points to be a whole number of at least 0, got 6.0": edit(["steps", 0, "points"], 6.0),
    "expected detail to be a JSON object, got a list": edit(["steps", 0, "detail"], []),
}


@pytest.mark.parametrize("message", BAD)
def test_what_is_wrong_is_said(record, message):
    bad = copy.deepcopy(record)
    BAD[message](bad)
    with pytest.raises(InputError, match=message):
        read_certificate(bad)


@pytest.mark.parametrize("record", [None, 3, "text", [], {}])
def test_what_is_no_object_at_all(record):
    with pytest.raises(InputError, match="expected a certificate"):
        read_certificate(record)
