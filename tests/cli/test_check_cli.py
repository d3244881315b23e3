"""`--certificates` writes them, `lexproof check` verifies them from the file and the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from calls import MODEL_OPTIONS, call, records

from toys import Letters

MODEL = MODEL_OPTIONS[:2]
ROBUST = ["a plain story", "a good plot by the sea", "a fun film"]


@pytest.fixture
def certificates(here: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Two certificates: of a text without substitutes, and of one that two swaps do not flip."""
    (here / "table.json").write_text(json.dumps({"good": ["fine", "nice"], "sea": ["lake"], "fun": ["dull"]}))
    status, _, err = call(
        capsys,
        "prove",
        *ROBUST,
        "--label",
        "positive",
        "--certificates",
        "proofs.jsonl",
        "--max-swaps",
        "2",
        *MODEL_OPTIONS,
    )
    assert status == 0, err
    return here / "proofs.jsonl"


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_one_line_for_each_text_that_has_a_certificate(certificates: Path) -> None:
    found = lines(certificates)
    assert [record["radius"] for record in found] == [0, 2]
    assert found[1]["choices"][1] == ["fine", "nice"]
    assert found[1]["steps"][0]["points"] == 6


def test_verified(certificates: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = call(capsys, "check", str(certificates), *MODEL)
    assert status == 0
    assert "line 2: a good plot by the sea" in out
    assert "verified: no text with up to 2 swaps is a flip from positive (enumeration of 0 to 2: every text was" in out
    assert "2 certificates: 2 verified" in err
    status, out, _ = call(capsys, "check", str(certificates), "--json", *MODEL)
    assert status == 0
    first, second = records(out)
    assert (first["line"], first["status"], first["text"], first["label"]) == (1, "verified", "a plain story", 1)
    assert (second["radius"], second["reason"], second["steps"][0]["texts"]) == (2, "", 6)


def test_minimize_writes_them_too(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, _ = call(capsys, "minimize", "a fun film", "--certificates", "low.jsonl", *MODEL_OPTIONS)
    assert status == 0
    assert lines(here / "low.jsonl")[0]["radius"] == 0
    status, out, _ = call(capsys, "check", "low.jsonl", *MODEL)
    assert status == 0
    assert "up to 0 swaps" in out


def test_nothing_to_write_leaves_no_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["prove", "dull", "--label", "positive", "--certificates", "none.jsonl", *MODEL_OPTIONS]
    status, _, err = call(capsys, *arguments)
    assert status == 0
    assert "no text has a certificate: none.jsonl is not written" in err
    assert not (here / "none.jsonl").exists()


def test_a_refused_certificate_is_status_1(certificates: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, forged = lines(certificates)
    forged["steps"][0]["margin"] = 0.99
    certificates.write_text(json.dumps(good) + "\n\n" + json.dumps(forged) + "\n")
    status, out, err = call(capsys, "check", str(certificates), *MODEL)
    assert status == 1
    assert "line 3: a good plot by the sea" in out
    assert "refused (enumeration of 0 to 2 swaps: expected a least margin of 0.99, got 0.6)" in out
    assert "2 certificates: 1 verified, 1 refused" in err
    status, out, _ = call(capsys, "check", str(certificates), "--json", "--max-points", "1", *MODEL)
    assert status == 1
    assert [(r["line"], r["status"]) for r in records(out)] == [(1, "verified"), (3, "refused")]
    assert "6 texts are more than max_points=1" in records(out)[1]["reason"]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (b"{", "got no JSON: Expecting property name"),
        (b"\xff\xfe", "got no JSON: 'utf-8' codec can't decode"),
        (b"[]", "got a JSON list, no object"),
        (b'{"a": ' + b"9" * 5000 + b"}", "got no JSON: Exceeds the limit"),
        (b"[" * 100_000, "got JSON that is nested too deeply"),
        (b'{"format": "lexproof-certificate"}', "missing choices, label"),
        (b'{"format": "lexproof-certificate", "version": NaN}', "missing choices, label"),
    ],
)
def test_a_broken_line_does_not_stop_the_others(
    certificates: Path, capsys: pytest.CaptureFixture[str], broken: bytes, reason: str
) -> None:
    first, second = certificates.read_bytes().splitlines()
    certificates.write_bytes(b"\n".join([first, broken, second]))
    status, out, _ = call(capsys, "check", str(certificates), "--json", *MODEL)
    assert status == 1
    found = records(out)
    assert [(r["line"], r["status"]) for r in found] == [(1, "verified"), (2, "refused"), (3, "verified")]
    assert reason in found[1]["reason"]
    assert found[1]["text"] is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected certificates, one a line, got nothing in odd.jsonl"),
        ("\n \n", "expected certificates, one a line, got nothing in odd.jsonl"),
        ("text,label\n", "expected certificates in odd.jsonl, got no JSON: Expecting value"),
        ('{"text": "x"}\n', "got a JSON object that does not say format 'lexproof-certificate' at line 1"),
    ],
)
def test_files_that_hold_none(here: Path, capsys: pytest.CaptureFixture[str], content: str, message: str) -> None:
    (here / "odd.jsonl").write_text(content)
    status, out, err = call(capsys, "check", "odd.jsonl", *MODEL)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_bad_usage(certificates: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in [
        (["check", "missing.jsonl", *MODEL], "missing.jsonl"),
        (["check", str(certificates), "--model", "nowhere.py:score"], "nowhere.py"),
        (["check", str(certificates), "--max-points", "-1", *MODEL], "--max-points"),
        (["prove", "x", "--certificates", "proofs.jsonl", *MODEL_OPTIONS], "expected --certificates to be a new file"),
        (
            ["prove", "x", "--certificates", "no/p.jsonl", *MODEL_OPTIONS],
            "expected --certificates in a folder that exists",
        ),
    ]:
        status, _, err = call(capsys, *arguments)
        assert status == 2, arguments
        assert message in err


def test_a_similarity_floor_cannot_be_written(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lexproof.cli.frame.default_encoder", Letters)
    arguments = ["prove", "a plain story", "--floor", "0.5", *MODEL_OPTIONS]
    assert call(capsys, *arguments)[0] == 0
    status, _, err = call(capsys, *arguments, "--certificates", "p.jsonl")
    assert status == 2
    assert "expected --certificates without a similarity floor, which a certificate cannot hold" in err
    assert not (here / "p.jsonl").exists()


def test_a_model_that_fails(certificates: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says nothing about the certificates, so that is bad input and not a refusal."""
    (certificates.parent / "failing.py").write_text((certificates.parent / "model.py").read_text())
    forged = lines(certificates)[0]
    status, out, _ = call(capsys, "check", str(certificates), "--json", "--model", "failing.py:nan")
    assert status == 1
    assert "expected a certificate about the model" in records(out)[0]["reason"]
    forged["victim"] = records(out)[0]["reason"].split()[6].rstrip(",")
    certificates.write_text(json.dumps(forged) + "\n")
    status, out, err = call(capsys, "check", str(certificates), "--model", "failing.py:nan")
    assert (status, out) == (2, "")
    assert "expected" in err
    assert "finite scores" in err
