"""Black boxes: batches, checks of what a function returns, wrapped exceptions, functions named by a string."""

from __future__ import annotations

import numpy as np
import pytest

from lexproof.errors import InputError, ModelError
from lexproof.points import MASKED
from lexproof.space import Space
from lexproof.text import Text
from lexproof.victims.blackbox import BlackBox, import_function, is_function_spec


def shares(texts: list) -> list[list[float]]:
    """Scores: share of letters a, and the rest."""
    joined = [text if isinstance(text, str) else text[1] for text in texts]
    return [[text.count("a") / 10, 1 - text.count("a") / 10] for text in joined]


def test_scores_of_texts_and_pairs():
    victim = BlackBox(shares, ["many", "few"])
    np.testing.assert_allclose(victim.scores(["banana", ("aaa", "a")]), [[0.3, 0.7], [0.1, 0.9]])
    assert victim.predict(["aaaaaaaa", ""]).tolist() == [0, 1]
    assert victim.labels == ("many", "few") and victim.name == "shares"
    assert victim.scores([]).shape == (0, 2)


def test_a_point_has_the_score_of_its_text():
    victim = BlackBox(shares, ["many", "few"])
    space = Space(Text.parse("a cat sat", premise="p"), [["one"], ["lama"], []])
    points = np.array([[0, 0, 0], [1, 1, 0], [0, MASKED, 0]], np.int32)
    (found,) = victim.score([(victim.bind(space), points)])
    np.testing.assert_allclose(found[:, 0], [0.3, 0.3, 0.2])


def test_the_function_is_called_with_at_most_batch_size_texts():
    calls: list[list[str]] = []

    def fn(texts):
        calls.append(texts)
        return shares(texts)

    found = BlackBox(fn, ["many", "few"], batch_size=2).scores(["a", "b", "c", "d", "e"])
    assert calls == [["a", "b"], ["c", "d"], ["e"]]
    assert found[:, 0].tolist() == [0.1, 0, 0, 0, 0]
    BlackBox(fn, ["many", "few"]).scores(["a", "b", "c"])
    assert calls[-1] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([[0.1, 0.9]], r"expected black box 'bad' to return scores of shape \(2, 2\), got \(1, 2\)"),
        ([0.1, 0.9], r"got \(2,\)"),
        ([[0.1, 0.2, 0.7]] * 2, r"expected .* of shape \(2, 2\), got \(2, 3\)"),
        ([[0.1, 0.9], [float("nan"), 0.5]], "expected black box 'bad' to return finite scores, got .* for input 1"),
        ([["x", "y"]] * 2, "expected black box 'bad' to return numbers"),
        ({"a": 1}, "expected black box 'bad' to return numbers, got dict"),
        (None, r"of shape \(2, 2\), got \(\)"),
    ],
)
def test_unusable_answers(answer, message):
    with pytest.raises(ModelError, match=message):
        BlackBox(lambda texts: answer, ["x", "y"], name="bad").scores(["one", "two"])


def test_exceptions_are_wrapped():
    def crash(texts):
        raise KeyError("tokenizer")

    with pytest.raises(ModelError, match=r"black box '.*crash' raised KeyError: 'tokenizer'") as caught:
        BlackBox(crash, ["x", "y"]).scores(["a"])
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_interrupt_is_not_wrapped():
    def interrupt(texts):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        BlackBox(interrupt, ["x", "y"]).scores(["a"])


def test_settings_are_checked():
    with pytest.raises(InputError, match=r"expected at least 2 labels, got \['x'\]"):
        BlackBox(shares, ["x"])
    with pytest.raises(InputError, match="expected batch_size >= 1, got 0"):
        BlackBox(shares, ["x", "y"], batch_size=0)


def test_the_fingerprint_knows_source_and_labels():
    def other(texts):
        return shares(texts)

    first = BlackBox(shares, ["x", "y"]).fingerprint
    assert first == BlackBox(shares, ["x", "y"]).fingerprint
    assert len({first, BlackBox(shares, ["x", "z"]).fingerprint, BlackBox(other, ["x", "y"]).fingerprint}) == 3
    assert BlackBox(len, ["x", "y"]).fingerprint  # a built-in function has no source to hash


# ---------------------------------------------------------------------- module:function


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("package.module:function", True),
        ("some folder/file.py:function", True),
        ("/abs/file.py:f", True),
        ("module", False),
        ("owner/model", False),
        ("module:not a name", False),
        ("http://localhost:8000/x", False),
        ("http://localhost", False),
        (":f", False),
    ],
)
def test_which_strings_name_a_function(spec, expected):
    assert is_function_spec(spec) is expected


def test_functions_by_module_and_by_file(tmp_path):
    assert import_function("os.path:join") is __import__("os").path.join
    file = tmp_path / "my models.py"
    file.write_text(
        "from dataclasses import dataclass\n@dataclass\nclass C:\n    x: int\ndef fn(texts):\n    return 'mine'\n"
    )
    assert import_function(f"{file}:fn")(["a"]) == "mine"
    other = tmp_path / "sub" / "my models.py"
    other.parent.mkdir()
    other.write_text("def fn(texts):\n    return 'other'\n")
    assert import_function(f"{other}:fn")([]) == "other"
    assert import_function(f"{file}:fn")([]) == "mine"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("def predict(texts): ...\ndef _hidden(): ...", "expected 'fn' in '.*file.py', got only: predict"),
        ("x = 1", "got only: nothing callable"),
        (
            "import no_such_package_anywhere",
            "importing '.*file.py' raised ModuleNotFoundError: .*no_such_package_anywhere",
        ),
        ("def fn(:", "importing '.*file.py' raised SyntaxError"),
        ("1 / 0", "importing '.*file.py' raised ZeroDivisionError: division by zero"),
    ],
)
def test_files_that_cannot_be_used(tmp_path, content, message):
    file = tmp_path / "file.py"
    file.write_text(content)
    with pytest.raises(ModelError, match=message):
        import_function(f"{file}:fn")


def test_names_that_lead_nowhere(tmp_path):
    with pytest.raises(ModelError, match=r"expected a Python file at '.*none.py', got nothing; check the path"):
        import_function(f"{tmp_path}/none.py:fn")
    with pytest.raises(ModelError, match="importing 'no_such_module' raised ModuleNotFoundError"):
        import_function("no_such_module:fn")
    with pytest.raises(ModelError, match=r"expected 'module:function' or 'file.py:function', got 'nonsense'"):
        import_function("nonsense")
