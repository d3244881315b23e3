"""What the defense table says of its rows, and that the benchmarks' page says what the rows say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from defense_claims import certified, collapsed, fewest, judged, kept
from defense_rows import ATTACKS, PARTS
from defense_table import brief, report, written_into

import defenses

ROOT = Path(__file__).parents[2] / "benchmarks"
SETTINGS = sorted(path.name for path in (ROOT / "records" / "defenses").iterdir())


def row(
    defense: str,
    *,
    swaps: list[int | None],
    minima: list[tuple[int, int | None]] = ((1, 1),) * 20,
    right: float = 0.8,
    losses: tuple[float, ...] = (0.7, 0.5),
    rho: float = 0.5,
    seed: int = 0,
) -> dict[str, Any]:
    """A finished row about 20 texts with at most 3 swaps each."""
    n = 100
    k = round(right * n)
    return {
        "defense": defense,
        "seed": seed,
        "samples": None,
        "train_texts": None,
        "epochs": 2,
        "recipe": {"epochs": 2},
        "sizes": {"rho_texts": 10},
        "training": {"losses": list(losses), "cpu": 10.0, "seconds": 11.0},
        "clean": {
            "value": right, "k": k, "n": n, "low": right - 0.1, "high": right + 0.1,
            "right": [1] * k + [0] * (n - k), "majority": 0.5,
        },
        **{attack: {"swaps": swaps, "queries": [7] * len(swaps), "seconds": 1.0} for attack in ATTACKS},
        "minima": {
            "texts": [{"lower": low, "upper": high, "most": 3, "timed_out": False} for low, high in minima],
            "seconds": 1.0,
        },
        "smoothed": None,
        "rho": {"value": rho, "lower": rho, "upper": rho, "words": 100},
    }  # fmt: skip


def verdict(lines: list[str], claim: str) -> str:
    (line,) = [line for line in lines if line.startswith(f"- {claim}: ")]
    return line.partition("**")[2].partition("**")[0]


BROKEN, HELD = [1] * 20, [None] * 20


def test_per_text_figures_are_those_of_the_definitions() -> None:
    own = row("plain", swaps=[0, 2, None], minima=[(0, 0), (2, 2), (4, None), (1, None)])
    assert kept("textfooler")(own).tolist() == [0, 0, 1]  # misclassified, broken, neither
    assert certified(1)(own).tolist() == [0, 1, 1, 0]
    assert certified(None)(own).tolist() == [0, 0, 1, 0]
    assert fewest("lower")(own)[1:].tolist() == [2, 4, 1]
    assert fewest("upper")(own)[1:].tolist() == [2, 4, 4]  # one more than the space allows where none is known
    assert np.isnan(fewest("lower")(own)[0])


@pytest.mark.parametrize("turned", [False, True])
def test_a_claim_is_held_by_the_sign_of_the_difference(turned: bool) -> None:
    more, less = ("freelb", "freelb++") if turned else ("freelb++", "freelb")
    rows = {"plain": [row("plain", swaps=BROKEN)], more: [row(more, swaps=HELD)], less: [row(less, swaps=BROKEN)]}
    lines = judged(rows)
    assert verdict(lines, "FreeLB++ above FreeLB under attack") == ("not held" if turned else "held")
    assert verdict(lines, "FreeLB above plain under attack") == ("held" if turned else "not held")
    assert verdict(lines, "sharing the synonyms helps dne") == "not measured"


def test_equal_means_are_not_a_difference() -> None:
    # over three seeds 3/3 - 2/3 + 0/3 - 1/3 is not 0 in floating point
    seeds = {"freelb": ([None, 1], [None, 1], [None, 1]), "plain": ([None, None], [None, 1], [1, 1])}
    rows = {name: [row(name, swaps=[*own, *[1] * 18]) for own in swaps] for name, swaps in seeds.items()}
    assert verdict(judged(rows), "FreeLB above plain under attack") == "not held"


def test_nothing_is_claimed_of_a_defense_that_the_model_cannot_take(tmp_path: Path) -> None:
    (tmp_path / "plain-0.json").write_text(json.dumps(row("plain", swaps=BROKEN)))
    (tmp_path / "ibp-0.json").write_text(json.dumps({"defense": "ibp", "seed": 0, "left_out": "no rule"}))
    told = report(tmp_path)
    assert "`ibp` left out: no rule." in told and "ibp has the highest" not in told
    assert "ibp+shared has the highest certified accuracy, r = 1: **not measured**" in told


def test_clean_accuracy_far_below_plain_is_said_unless_training_is_certified() -> None:
    claim = "each defense trains, clean accuracy within 3 points of plain"
    plain = [row("plain", swaps=BROKEN)]
    assert verdict(judged({"plain": plain, "pgd": [row("pgd", swaps=HELD, right=0.78)]}), claim) == "held"
    assert verdict(judged({"plain": plain, "pgd": [row("pgd", swaps=HELD, right=0.7)]}), claim) == "not held"
    assert verdict(judged({"plain": plain, "ibp": [row("ibp", swaps=HELD, right=0.7)]}), claim) == "held"
    rising = [row("pgd", swaps=HELD, losses=(0.5, 0.7))]
    assert verdict(judged({"plain": plain, "pgd": rising}), claim) == "not held"


def test_a_model_that_names_one_class_is_no_defense() -> None:
    proven = [(4, None)] * 20
    rows = {
        "plain": [row("plain", swaps=BROKEN)],
        "ibp": [row("ibp", swaps=HELD, minima=proven, right=0.75)],
        "ascc": [row("ascc", swaps=HELD, minima=proven, right=0.55, rho=1.0)],
        "sp-defense": [row("sp-defense", swaps=HELD, rho=0.9)],
    }
    assert collapsed(rows["ascc"])
    lines = judged(rows)
    assert verdict(lines, "ibp has the highest certified accuracy, r = 1") == "held"
    assert verdict(lines, "sp-defense has the highest rho") == "held"


def test_means_are_over_seeds_and_texts_are_compared_one_by_one(tmp_path: Path) -> None:
    for seed, swaps in enumerate((BROKEN, HELD)):
        for name in ("plain", "freelb"):
            kind = swaps if name == "freelb" else BROKEN
            (tmp_path / f"{name}-{seed}.json").write_text(json.dumps(row(name, swaps=kind, seed=seed)))
    (tmp_path / "pgd-0.json").write_text(json.dumps({"defense": "pgd", "seed": 0}))
    lines = report(tmp_path).splitlines()
    assert "4 rows, 1 unfinished; 0 minima ended by the clock. 2 epochs unless said otherwise." in lines
    (freelb,) = [line for line in lines if line.startswith("| `freelb` | 2 ")]
    assert freelb.count("0.500 ± 0.500") == len(ATTACKS)
    assert any("textfooler +0.500 (+0.500 to +0.500, 20 texts, settled)" in line for line in lines)


def test_what_is_trained_otherwise_is_said_once_for_all_that_are(tmp_path: Path) -> None:
    patient = {"recipe": {"epochs": 9, "patience": 9}}
    for own in (
        row("plain", swaps=BROKEN),
        {**row("safer", swaps=BROKEN), **patient},
        {**row("ranmask", swaps=BROKEN), **patient},
        {**row("ranmask", swaps=BROKEN, seed=1), **patient},
        {**row("ada", swaps=BROKEN), "spec": "ada?limit=4"},
    ):
        (tmp_path / f"{own['defense']}-{own['seed']}.json").write_text(json.dumps(own))
    (told,) = [line for line in brief(tmp_path).splitlines() if "unless said otherwise" in line]
    assert told.endswith(
        "Trained as `ada?limit=4`: `ada`. Trained for 9 epochs without early stopping: `ranmask`, `safer`."
    )


def test_a_page_has_the_claims_that_its_rows_are_about(tmp_path: Path) -> None:
    for own in (row("plain", swaps=BROKEN), row("freelb", swaps=HELD)):
        (tmp_path / f"{own['defense']}-0.json").write_text(json.dumps(own))
    assert "FreeLB above plain under attack: **held**" in brief(tmp_path)
    assert "FreeLB++ above FreeLB" in report(tmp_path) and "FreeLB++ above FreeLB" not in brief(tmp_path)


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_page_says_what_the_rows_say(setting: str) -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert brief(ROOT / "records" / "defenses" / setting) in page


def test_a_page_gets_the_table_between_its_marks(tmp_path: Path) -> None:
    folder, page = tmp_path / "mr-cnn", tmp_path / "page.md"
    folder.mkdir()
    (folder / "plain-0.json").write_text(json.dumps(row("plain", swaps=BROKEN)))
    page.write_text("before\n<!-- rows of mr-cnn -->\nold\n<!-- end of mr-cnn -->\nafter\n")
    for _ in range(2):
        written_into(page, folder)
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n")
    assert "old" not in text and text.count("| `plain` |") == 1
    page.write_text("no marks")
    with pytest.raises(SystemExit, match="rows of mr-cnn"):
        written_into(page, folder)


@pytest.mark.parametrize("setting", SETTINGS)
def test_rows_that_are_kept_are_whole(setting: str) -> None:
    for path in (ROOT / "records" / "defenses" / setting).glob("*.json"):
        kept_row = json.loads(path.read_text())
        assert "left_out" in kept_row or all(part in kept_row for part in PARTS), path.name


def test_files_beside_models_are_their_own_where_settings_hold_dots(tmp_path: Path) -> None:
    names = [f"freelb++_size={size}-{seed}" for size in (0.06, 0.12) for seed in (0, 1)]
    assert len({defenses.beside(tmp_path / name, ".json") for name in names}) == len(names)
