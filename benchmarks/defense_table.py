"""The rows of the defense table as Markdown, and what is claimed of them: held or not, with the numbers.

Figures are means over seeds ± half their range.  The second table has every seed with 95 % Clopper-Pearson intervals
over the draw of the texts.  Success and queries are those of the attacks in turn.  "Collapsed": `defense_claims.py`.

    aua       texts classified correctly and not broken by the attack, of all texts
    success   texts broken, of those classified correctly
    queries   mean over the texts classified correctly
    certified texts proven for r swaps, of all texts; of a smoothed model (†) what smoothing certifies of the ideal
              classifier with the gold label, not of the model that was attacked
    rho       of the first texts and words; smoothed models have fewer
    swaps     mean over the texts classified correctly of the fewest swaps that break a text, or 1 more than its space
              allows if none does: from the brackets' lower and upper ends
    train s   processor time (wall time if a training was resumed)
    factor    the same an epoch against plain training with the same seed
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from defense_claims import RADII, Row, certified, collapsed, fewest, is_smoothed, judged, kept, mean_of, rho
from defense_rows import ATTACKS, PARTS

from lexproof.auditing.summary import share_of


def success(attack: str) -> Callable[[Row], float]:
    def share(row: Row) -> float:
        right = [swaps for swaps in row[attack]["swaps"] if swaps != 0]
        return sum(swaps is not None for swaps in right) / len(right) if right else float("nan")

    return share


def queries(attack: str) -> Callable[[Row], float]:
    def mean(row: Row) -> float:
        pairs = zip(row[attack]["queries"], row[attack]["swaps"], strict=True)
        asked = [count for count, swaps in pairs if swaps != 0]
        return float(np.mean(asked)) if asked else float("nan")

    return mean


def factor(row: Row, plain: Row | None) -> float:
    """Time an epoch against plain training."""
    if plain is None:
        return float("nan")
    known = "cpu" if row["training"]["cpu"] and plain["training"]["cpu"] else "seconds"
    own, base = (each["training"][known] / len(each["training"]["losses"]) for each in (row, plain))
    return own / base


def stated(values: Iterable[float], digits: int = 3) -> str:
    found = [value for value in values if np.isfinite(value)]
    if not found:
        return "–"
    spread = f" ± {(max(found) - min(found)) / 2:.{digits}f}" if len(found) > 1 else ""
    return f"{np.mean(found):.{digits}f}{spread}"


def line(name: str, rows: list[Row], plains: dict[int, Row]) -> str:
    """One defense: means over its seeds."""
    mark = (" †" if is_smoothed(rows) else "") + (" collapsed" if collapsed(rows) else "")
    cells = [f"`{name}`{mark}", f"{len(rows)}", stated(row["clean"]["value"] for row in rows)]
    cells += [stated(map(mean_of(kept(attack)), rows)) for attack in ATTACKS]
    cells += [" / ".join(stated((np.mean(list(map(success(attack), rows))),), 2) for attack in ATTACKS)]
    cells += [" / ".join(stated((np.mean(list(map(queries(attack), rows))),), 0) for attack in ATTACKS)]
    cells += [stated(map(mean_of(certified(radius)), rows)) for radius in (*RADII, None)]
    bound = "" if all(row["rho"] is None or row["rho"]["value"] is not None for row in rows) else "≤ "
    cells += [bound + stated(map(rho, rows))]
    ends = [stated(map(mean_of(fewest(end)), rows), 2) for end in ("lower", "upper")]
    cells += [ends[0] if ends[0] == ends[1] else " to ".join(ends)]
    cells += [stated((row["training"]["cpu"] or row["training"]["seconds"] for row in rows), 0)]
    cells += [stated((factor(row, plains.get(row["seed"])) for row in rows), 1)]
    return "| " + " | ".join(cells) + " |"


def otherwise(rows: Iterable[Row]) -> list[str]:
    """What of some defenses' training is not as in the other rows, a sentence for each such thing."""
    named: dict[str, list[str]] = {}
    for row in rows:
        changes = [f"as `{row['spec']}`"] if "spec" in row else []
        changes += [f"for {row['recipe']['epochs']} epochs"] if row["recipe"]["epochs"] != row["epochs"] else []
        changes += ["without early stopping"] if "patience" in row["recipe"] else []
        names = named.setdefault(" ".join(changes), [])
        names += [] if f"`{row['defense']}`" in names else [f"`{row['defense']}`"]
    return [f"Trained {change}: {', '.join(names)}." for change, names in sorted(named.items()) if change]


def with_interval(hits: float, n: int) -> str:
    share = share_of(int(hits), n)
    return "–" if not n else f"{share['value']:.3f} ({share['low']:.3f} to {share['high']:.3f})"


def detail(row: Row) -> str:
    """One seed: shares with their intervals."""
    cells = [f"`{row['defense']}`", f"{row['seed']}", with_interval(row["clean"]["k"], row["clean"]["n"])]
    for figure in (*map(kept, ATTACKS), *map(certified, (*RADII, None))):
        values = figure(row)
        cells.append(with_interval(values.sum(), len(values)))
    return "| " + " | ".join(cells) + " |"


def head(*names: str) -> list[str]:
    return ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]


def rows_in(folder: Path) -> list[Row]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def whole_of(found: Iterable[Row]) -> dict[str, list[Row]]:
    """The finished rows by defense, plain training first."""
    grouped: dict[str, list[Row]] = {}
    for row in sorted(found, key=lambda row: (row["defense"] != "plain", row["defense"], row["seed"])):
        if PARTS[-1] in row:
            grouped.setdefault(row["defense"], []).append(row)
    return grouped


def left_out(found: Iterable[Row]) -> dict[str, str]:
    """The defenses that the kind of model cannot take, and why."""
    return {row["defense"]: row["left_out"] for row in found if "left_out" in row}


def report(folder: Path) -> str:
    """All that is known of the rows in a folder: how they were made, means over seeds, every seed, claims."""
    found = rows_in(folder)
    grouped = whole_of(found)
    if not grouped:
        return f"## {folder.name}\n\nno finished row"
    whole = [row for rows in grouped.values() for row in rows]
    asked = {json.dumps({**{key: row[key] for key in ("samples", "train_texts")}, **row["sizes"]}) for row in whole}
    made = [*(f"Sizes: `{sizes}`" for sizes in sorted(asked)), ""]
    seeds = [*head("defense", "seed", "clean", *_SHARES), *map(detail, whole)]
    return "\n".join(
        [f"## {folder.name}", "", *made, *_means(found), "", *seeds, "", *judged(grouped, left_out(found))]
    )


def brief(folder: Path) -> str:
    """What a page shows of a setting: means over seeds, and the claims that its rows are about."""
    found = rows_in(folder)
    claims = [claim for claim in judged(whole_of(found), left_out(found)) if "**not measured**" not in claim]
    return "\n".join([*_means(found), "", *claims])


_SHARES = [
    *(f"aua {attack}" for attack in ATTACKS),
    *(f"certified r = {radius}" for radius in RADII),
    "certified, whole space",
]


def _means(found: list[Row]) -> list[str]:
    """How many rows there are, what is special about some of them, and their means over seeds."""
    grouped = whole_of(found)
    whole = [row for rows in grouped.values() for row in rows]
    unable = left_out(found)
    timed = sum(text["timed_out"] for row in whole for text in row["minima"]["texts"])
    notes = [
        f"{len(whole)} rows, {len(found) - len(whole) - len(unable)} unfinished; {timed} minima ended by the clock."
    ]
    notes += [f"{epochs} epochs unless said otherwise." for epochs in sorted({row["epochs"] for row in whole})]
    notes += [
        f"{', '.join(f'`{name}`' for name in unable if unable[name] == reason)} left out: {reason}."
        for reason in dict.fromkeys(unable.values())
    ]
    notes += otherwise(whole)
    under, radii = _SHARES[: len(ATTACKS)], _SHARES[len(ATTACKS) :]
    columns = head(
        "defense", "seeds", "clean", *under, "success", "queries", *radii, "rho", "swaps", "train s", "factor"
    )
    plains = {row["seed"]: row for row in grouped.get("plain", [])}
    return [" ".join(notes), "", *columns, *(line(name, rows, plains) for name, rows in grouped.items())]


def written_into(page: Path, folder: Path) -> None:
    """Put what a page shows of a setting between its marks there."""
    text = page.read_text(encoding="utf-8")
    begin, end = f"<!-- rows of {folder.name} -->\n", f"<!-- end of {folder.name} -->"
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"expected {begin.strip()} and {end} in {page}, got none; set both where the table is to be")
    page.write_text(f"{before}{begin}\n{brief(folder)}\n\n{end}{after}", encoding="utf-8")
