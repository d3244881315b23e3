import json
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import lexproof as lp
from lexproof.auditing.summary import share_of, summarize
from lexproof.errors import InputError, ModelError, RunError
from lexproof.points import FloatArray
from lexproof.text import Text
from small_victims import lean, word_victim
from toys import Additive, brute_minimum

WORDS = ["plain", "odd", "warm", "cold", "slow", "quick", "film", "plot", "cast", "score"]


def candidates(text: Text) -> list[list[str]]:
    return [[f"{word}{j}" for j in range(2)] if word in WORDS[:6] else [] for word in text.words]


def make_texts(count: int) -> tuple[list[str], list[int]]:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, size=rng.integers(1, 9))) for _ in range(count)]
    return texts, rng.integers(0, 2, size=count).tolist()


TEXTS, LABELS = make_texts(40)


def stable(records: object) -> str:
    return json.dumps([{key: value for key, value in r.items() if key != "seconds"} for r in records])  # type: ignore[attr-defined]


def test_brackets_are_exact_on_small_spaces() -> None:
    victim = Additive(1)
    result = lp.audit(victim, TEXTS, LABELS, candidates=candidates, settings=lp.Settings(max_share=1.0))
    assert len(result.records) == 40
    for record, text, label in zip(result.records, TEXTS, LABELS, strict=True):
        space = lp.Space.around(text, candidates, max_share=1.0)
        exact = brute_minimum(victim, space, label)
        if exact is None:
            assert (record["answer"], record["lower"], record["upper"]) == ("robust", space.max_swaps + 1, None)
            assert record["share"]["flips"] == 0
        else:
            assert (record["answer"], record["lower"], record["upper"]) == ("minimum", exact, exact)
            assert victim.predict([record["witness"]])[0] == record["witness_predicted"] != label
        flips = victim.predict(space.render(space.singles())) != label
        if exact != 0:
            assert len(record["breakers"]) == flips.sum()
            assert record["share"]["method"] in {"exact", "clopper-pearson"}


def test_summary_adds_up() -> None:
    victim = Additive(1)
    result = lp.audit(victim, TEXTS, LABELS, candidates=candidates)
    summary, records = result.summary, result.records
    correct = [r for r in records if r["predicted"] == r["label"]]
    broken = [r for r in correct if r["upper"] is not None]
    assert summary["clean"]["k"] == len(correct) == (victim.predict(TEXTS) == np.array(LABELS)).sum()
    assert summary["success"]["k"] == len(broken)
    assert summary["success"]["n"] == len(correct)
    assert summary["aua"]["k"] == len(correct) - len(broken)
    assert summary["aua"]["n"] == 40
    curve = summary["curve"]
    assert curve[0]["attacked"]["k"] == len(correct)
    for point in curve:
        assert point["certified"]["k"] <= point["attacked"]["k"]
        assert point["attacked"]["k"] == sum(r["upper"] is None or r["upper"] > point["swaps"] for r in correct)
    assert curve[-1]["attacked"]["k"] == summary["aua"]["k"]
    assert [p["attacked"]["k"] for p in curve] == sorted((p["attacked"]["k"] for p in curve), reverse=True)
    minimum = summary["minimum"]
    assert minimum["mean_upper"] == pytest.approx(np.mean([r["upper"] for r in broken]))
    assert summary["finished"]
    top = summary["dangerous"][0]
    pair = (top["old"], top["new"])
    used = [r for r in correct if pair in {(c["old"], c["new"]) for c in r["changed"] + r["breakers"]}]
    assert top["texts"] == len(used)
    assert set(top["examples"]) <= {r["id"] for r in used}


def test_empty_summary_has_no_numbers() -> None:
    summary = summarize([])
    assert summary["clean"] == {"value": None, "low": 0.0, "high": 1.0, "n": 0, "k": 0, "confidence": 0.95}
    assert summary["minimum"]["mean_lower"] is None
    assert share_of(1, 4)["value"] == 0.25


def test_without_labels_predictions_count_as_gold() -> None:
    result = lp.audit(Additive(1), TEXTS, candidates=candidates)
    assert result.summary["clean"]["value"] == 1.0


def test_run_folder(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    result = lp.audit(Additive(1), TEXTS, LABELS, candidates=candidates, out=folder, name="toy")
    assert sorted(path.name for path in folder.iterdir()) == [
        "config.json", "report.html", "run.sqlite", "summary.json",
    ]  # fmt: skip
    rows = sqlite3.connect(folder / "run.sqlite").execute("SELECT id, record FROM answers ORDER BY id").fetchall()
    assert [json.loads(record) for _, record in rows] == list(result.records)
    assert json.loads((folder / "summary.json").read_text())["title"] == "additive on toy"
    assert "<html" in (folder / "report.html").read_text()
    config = json.loads((folder / "config.json").read_text())
    assert config["identity"]["settings"]["seed"] == 0


def test_a_run_is_not_written_over_unasked(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    lp.audit(Additive(1), TEXTS, LABELS, candidates=candidates, out=folder)
    before = (folder / "run.sqlite").read_bytes()
    with pytest.raises(RunError, match="already holds a run; continue it with --resume or replace it with --overwrite"):
        lp.audit(Additive(2), TEXTS, LABELS, candidates=candidates, out=folder)
    with pytest.raises(RunError, match=r"another configuration: its settings.seed is 0, now it is 1"):
        lp.audit(
            Additive(1), TEXTS, LABELS, candidates=candidates, out=folder, resume=True, settings=lp.Settings(seed=1)
        )
    with pytest.raises(RunError, match=r"another configuration: its victim is additive-1-0\.3-0\.0, now it is"):
        lp.audit(Additive(2), TEXTS, LABELS, candidates=candidates, out=folder, resume=True)
    assert (folder / "run.sqlite").read_bytes() == before
    lp.audit(Additive(2), TEXTS[:3], LABELS[:3], candidates=candidates, out=folder, overwrite=True)
    assert json.loads((folder / "summary.json").read_text())["n"] == 3


def test_foreign_folders_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(RunError, match=r"expected an empty folder or a run, got .* with other files"):
        lp.audit(Additive(), TEXTS, LABELS, candidates=candidates, out=tmp_path, overwrite=True)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(RunError, match="to be the configuration of a run, got something else"):
        lp.audit(Additive(), TEXTS, LABELS, candidates=candidates, out=tmp_path, overwrite=True)
    assert (tmp_path / "thesis.tex").read_text() == "precious"
    with pytest.raises(RunError, match="to be a folder, got a file"):
        lp.audit(Additive(), TEXTS, LABELS, candidates=candidates, out=tmp_path / "thesis.tex")


def test_interrupted_run_keeps_what_is_finished_and_resumes_to_the_same(tmp_path: Path) -> None:
    whole = lp.audit(Additive(1), TEXTS, LABELS, candidates=candidates, out=tmp_path / "whole")

    def stop(finished: int, total: int, record: object) -> None:
        if finished == 11:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lp.audit(Additive(1), TEXTS, LABELS, candidates=candidates, out=tmp_path / "half", progress=stop)
    stored = sqlite3.connect(tmp_path / "half" / "run.sqlite").execute("SELECT count(*) FROM answers").fetchone()[0]
    assert stored == 11
    seen = []
    resumed = lp.audit(
        Additive(1), TEXTS, LABELS, candidates=candidates, out=tmp_path / "half", resume=True,
        progress=lambda finished, total, record: seen.append((finished, total)),
    )  # fmt: skip
    assert seen[0] == (11, 40)
    assert len(seen) == 30
    assert stable(resumed.records) == stable(whole.records)


def test_answers_do_not_depend_on_company() -> None:
    whole = lp.audit(Additive(1), TEXTS, LABELS, candidates=candidates).records
    for key in (0, 7, 39):
        (alone,) = lp.audit(Additive(1), TEXTS[key : key + 1], LABELS[key : key + 1], candidates=candidates).records
        assert stable([{**alone, "id": key}]) == stable([whole[key]])


SCRIPT = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    sys.path[:0] = [sys.argv[1], sys.argv[1] + "/auditing"]
    from toys import Additive
    from test_audit import LABELS, TEXTS, candidates
    import lexproof as lp

    def say(finished, total, record):
        print(finished, flush=True)
        time.sleep(0.2)  # time to be killed in, since texts end many at a time

    lp.audit(Additive(1), TEXTS, LABELS, candidates=candidates, out=sys.argv[2], resume=True, progress=say)
    """
)


@pytest.mark.slow
def test_resume_after_kill_gives_the_identical_result(tmp_path: Path) -> None:
    whole = lp.audit(Additive(1), TEXTS, LABELS, candidates=candidates, out=tmp_path / "whole")
    tests = str(Path(__file__).resolve().parent.parent)
    command = [sys.executable, "-c", SCRIPT, tests, str(tmp_path / "killed")]
    kills = 0
    for patience in (3, 6, 9):  # die three times, each time a little later
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for _ in range(patience):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        kills += process.returncode == -signal.SIGKILL
    assert kills == 3
    resumed = lp.audit(Additive(1), TEXTS, LABELS, candidates=candidates, out=tmp_path / "killed", resume=True)
    assert stable(resumed.records) == stable(whole.records)


class Moody(Additive):
    """Cannot read some texts."""

    def __init__(self, poison: str) -> None:
        super().__init__(1)
        self.poison = poison

    def scores(self, inputs) -> FloatArray:  # type: ignore[no-untyped-def]
        if any(self.poison in given for given in inputs):
            raise ModelError("the model raised ValueError: cannot read this")
        return super().scores(inputs)


def test_one_bad_text_does_not_stop_the_run(tmp_path: Path) -> None:
    texts = [*TEXTS[:10], "poison film", *TEXTS[10:]]
    labels = [*LABELS[:10], 1, *LABELS[10:]]
    result = lp.audit(Moody("poison"), texts, labels, candidates=candidates, out=tmp_path / "run")
    assert result.summary["errors"] == 1
    assert result.summary["n"] == 40
    assert result.records[10]["answer"] == "error"
    assert "cannot read this" in result.records[10]["reason"]
    again = lp.audit(Moody("poison"), texts, labels, candidates=candidates, out=tmp_path / "run", resume=True)
    assert stable(again.records) == stable(result.records)  # failed rows are tried again, and fail again


def test_a_broken_victim_stops_the_run() -> None:
    with pytest.raises(ModelError, match="cannot read this"):
        lp.audit(Moody(""), TEXTS, LABELS, candidates=candidates)
    with pytest.raises(ModelError, match="all 1 texts failed"):
        lp.audit(Moody(""), TEXTS[:1], LABELS[:1], candidates=candidates)


def test_strange_texts_are_answered() -> None:
    texts = [
        "", " ", "plain", "film", "😀😀", "plain " * 3 + "🎬", "e\u0301 pla\u0301in", "شريط plain",
        "a\x00b plain\x1b[31m",
        "<script>alert(1)</script> plain", "plain\u2028odd", "\u202eplain",
    ]  # fmt: skip
    result = lp.audit(Additive(1), texts, candidates=candidates)
    assert [record["text"] for record in result.records] == texts
    assert result.summary["errors"] == 0


def test_a_text_of_a_hundred_thousand_words_is_answered() -> None:
    start = time.perf_counter()
    (record,) = lp.audit(
        Additive(1, bias=1e9), ["plain film " * 50_000], [1], candidates=candidates,
        settings=lp.Settings(time_limit=2.0),
    ).records  # fmt: skip
    assert record["words"] == 100_000
    assert record["answer"] == "bracket"
    assert record["reason"] == "time limit of 2 s reached"
    assert time.perf_counter() - start < 30


def good_run(folder: Path) -> dict[str, bytes]:
    lp.audit(Additive(1), TEXTS[:5], LABELS[:5], candidates=candidates, out=folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


class Down(Additive):
    def scores(self, inputs: object) -> FloatArray:
        raise ModelError("no answer")


def test_a_run_is_replaced_only_by_one_that_answers(tmp_path: Path) -> None:
    before = good_run(tmp_path / "run")
    with pytest.raises(ModelError, match="no answer"):
        lp.audit(Down(), TEXTS, LABELS, candidates=candidates, out=tmp_path / "run", overwrite=True)
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before
    new = lp.audit(Additive(2), TEXTS[5:9], LABELS[5:9], candidates=candidates, out=tmp_path / "run", overwrite=True)
    assert [record["text"] for record in new.records] == TEXTS[5:9]
    again = lp.audit(Additive(2), TEXTS[5:9], LABELS[5:9], candidates=candidates, out=tmp_path / "run", resume=True)
    assert again.records == new.records


def test_an_empty_folder_outlives_a_run_that_failed(tmp_path: Path) -> None:
    for name, is_there in (("old", True), ("new", False)):
        if is_there:
            (tmp_path / name).mkdir()
        with pytest.raises(ModelError, match="no answer"):
            lp.audit(Down(), TEXTS, LABELS, candidates=candidates, out=tmp_path / name)
        assert (tmp_path / name).exists() == is_there
        assert not is_there or not any((tmp_path / name).iterdir())


def test_a_damaged_run_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    good_run(folder)
    with sqlite3.connect(folder / "run.sqlite") as database:
        database.execute("UPDATE answers SET record = '3' WHERE id = 2")
    database.close()
    with pytest.raises(RunError, match=r"cannot read .*run.sqlite: a record is not what a run writes; it is damaged"):
        lp.audit(Additive(1), TEXTS[:5], LABELS[:5], candidates=candidates, out=folder, resume=True)
    (folder / "config.json").write_text('{"identity": 3}')
    with pytest.raises(RunError, match="to be the configuration of a run, got something else"):
        lp.audit(Additive(1), TEXTS[:5], LABELS[:5], candidates=candidates, out=folder, resume=True)


def test_labels_may_be_an_array() -> None:
    arrays = lp.audit(Additive(1), TEXTS, np.array(LABELS), candidates=candidates)  # type: ignore[arg-type]
    assert stable(arrays.records) == stable(lp.audit(Additive(1), TEXTS, LABELS, candidates=candidates).records)


def test_one_bad_text_without_labels_fails_alone() -> None:
    victim = Additive(1)
    scores = victim.scores

    def picky(inputs: object) -> FloatArray:
        if any("quick" in given for given in inputs):  # type: ignore[attr-defined]
            raise ModelError("cannot read quick")
        return scores(inputs)  # type: ignore[arg-type]

    victim.scores = picky  # type: ignore[method-assign,assignment]
    texts = ["plain film", "quick film", "odd plot", "warm cast"]
    result = lp.audit(victim, texts, candidates=candidates)
    assert [record["answer"] == "error" for record in result.records] == [False, True, False, False]
    assert (result.records[1]["label"], result.records[1]["reason"]) == (None, "cannot read quick")
    assert (result.summary["n"], result.summary["errors"]) == (3, 1)


def test_a_time_limit_does_not_make_texts_wrong() -> None:
    result = lp.audit(Additive(1), TEXTS, candidates=candidates, settings=lp.Settings(time_limit=1e-9))
    assert result.summary["clean"]["k"] == len(TEXTS)


def test_curves_reach_as_far_as_the_answers() -> None:
    text = " ".join(["plain"] * 45)
    # 20 is far from 0: one swap moves the sum by 0.5, so 41 swaps are needed
    victim = lp.BlackBox(
        lambda texts: [[0.0, 20.4 - 0.5 * given.count("plain0")] for given in texts], labels=["negative", "positive"]
    )
    settings = lp.Settings(max_share=1.0, max_points=0, samples=0)
    result = lp.audit(victim, [text], [1], candidates=lambda text: [["plain0"]] * len(text), settings=settings)
    assert result.records[0]["upper"] == 41
    curve = result.summary["curve"]
    assert [point["swaps"] for point in curve] == list(range(42))
    assert [curve[r]["attacked"]["k"] for r in (0, 30, 40, 41)] == [1, 1, 1, 0]


def test_the_curve_shows_the_first_swap_when_all_is_proven() -> None:
    result = lp.audit(Additive(0, bias=60), TEXTS, [1] * len(TEXTS), candidates=candidates)
    assert result.summary["certified"]["value"] == 1.0
    assert [point["certified"]["k"] for point in result.summary["curve"]] == [len(TEXTS), len(TEXTS)]
    swapped = [record for record in result.records if record["max_swaps"]]
    assert swapped
    for record in swapped:  # proven, so counted: no sample and no interval
        assert (record["share"]["method"], record["share"]["value"]) == ("exact", 0.0)
        assert record["queries"] <= int(record["points"]) + 2 * record["words"]


def test_a_proven_space_that_is_too_large_to_count_has_no_share() -> None:
    """Its size has more digits than Python writes, and takes minutes to find."""
    n = 6000
    victim = lean(word_victim("mlp-mean", 0, scale=0.3, max_length=n), 0, 1e4)
    text, settings = " ".join(["w1"] * n), lp.Settings(max_share=1.0)
    result = lp.audit(victim, [text], [0], candidates=lambda text: [["w2", "w3", "w4"]] * n, settings=settings)
    (record,) = result.records
    assert (record["answer"], record["lower"], record["share"]) == ("robust", n + 1, None)


def test_bad_input() -> None:
    with pytest.raises(InputError, match="expected at least one text, got an empty set"):
        lp.audit(Additive(), [], [], candidates=candidates)
    with pytest.raises(InputError, match="expected one label a text, got 1 labels for 2 texts"):
        lp.audit(Additive(), ["a", "b"], [0], candidates=candidates)
    with pytest.raises(InputError, match="expected labels from 0 to 1, got 7"):
        lp.audit(Additive(), ["a"], [7], candidates=candidates)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_share": 0.0}, r"expected max_share in \(0, 1\], got 0.0"),
        ({"max_points": -1}, "expected max_points >= 0, got -1"),
        ({"time_limit": 0}, "expected time_limit > 0, got 0"),
        ({"confidence": 1.0}, r"expected a confidence in \(0, 1\), got 1.0"),
        ({"max_queries": -1}, "expected max_queries >= 0, got -1"),
        ({"floor": 1.5}, r"expected a floor from -1 to 1 \(cosine\), got 1.5"),
    ],
)
def test_bad_settings(settings: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        lp.Settings(**settings)  # type: ignore[arg-type]
