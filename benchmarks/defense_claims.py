"""What is claimed of the defenses, tried on the rows of one setting: held or not, with the numbers.

A difference of two defenses is the mean, over the texts that both were asked about, of means over seeds, with a 95 %
bootstrap interval over those texts: the models are compared text by text.  The interval does not speak for other seeds.
A claim is "held" if the difference has the right sign, and "settled" if its interval lies on one side of 0.

A model that names one class for every text cannot be fooled.  A defense whose clean accuracy is, for some seed, not
settled above that of the most frequent class is marked "collapsed" and takes no part in the claims about the highest.
Neither do smoothed models in that about certificates, which are of another classifier.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from defense_rows import ATTACKS
from upper_bounds import interval

Row = dict[str, Any]
PerText = Callable[[Row], np.ndarray]
"""A figure of each text of a row; nan where it is not defined."""

RADII = (1, 2)
_CLOSE = 0.03  # of clean accuracy
_ENOUGH = 10  # texts for a bootstrap to say anything
_ROUNDING = 1e-9  # means over seeds that are equal differ by less, and others by more


def kept(attack: str) -> PerText:
    return lambda row: np.array([swaps is None for swaps in row[attack]["swaps"]], float)


def certified(radius: int | None) -> PerText:
    """Whether each text is proven for so many swaps, or for all that its space allows."""

    def proven(row: Row) -> np.ndarray:
        most = np.array([text["most"] for text in row["minima"]["texts"]])
        needed = most if radius is None else np.minimum(most, radius)
        if row["smoothed"] is not None:
            reached = np.array([-1 if r is None else r for r in row["smoothed"]["radii"]])
        else:
            reached = np.array([text["lower"] for text in row["minima"]["texts"]]) - 1
        return (reached >= needed).astype(float)

    return proven


def fewest(end: str) -> PerText:
    """The fewest swaps, at the lower or upper end of the bracket; nan for a misclassified text."""

    def swaps(row: Row) -> np.ndarray:
        found = []
        for text in row["minima"]["texts"]:
            cap = text["most"] + 1
            value = cap if text[end] is None else min(text[end], cap)
            found.append(np.nan if text["upper"] == 0 else value)
        return np.array(found, float)

    return swaps


def right(row: Row) -> np.ndarray:
    return np.array(row["clean"]["right"], float)


def mean_of(figure: PerText) -> Callable[[Row], float]:
    return lambda row: float(np.nanmean(figure(row))) if np.isfinite(figure(row)).any() else float("nan")


def rho(row: Row) -> float:
    """The number, or the upper end where only flips were looked for."""
    return float("nan") if row["rho"] is None else float(row["rho"]["upper"])


def per_text(rows: list[Row], figure: PerText) -> np.ndarray:
    """Mean over the seeds of a figure of each text that all of them were asked about."""
    values = [figure(row) for row in rows]
    return np.mean([own[: min(map(len, values))] for own in values], axis=0)


def is_smoothed(rows: list[Row]) -> bool:
    return any(row["smoothed"] is not None for row in rows)


def collapsed(rows: list[Row]) -> bool:
    return any(row["clean"]["low"] <= row["clean"]["majority"] for row in rows)


def difference(one: list[Row], other: list[Row], figure: PerText) -> np.ndarray:
    """Of each text that both were asked about and that the figure is defined for."""
    values = [per_text(rows, figure) for rows in (one, other)]
    common = min(map(len, values))
    found = values[0][:common] - values[1][:common]
    return found[np.isfinite(found)]


def is_above(values: np.ndarray) -> bool:
    return len(values) > 0 and bool(values.mean() > _ROUNDING)


def told(name: str, values: np.ndarray) -> str:
    if not len(values):
        return f"{name} no common texts"
    low, high = interval(values)
    settled = "settled" if len(values) >= _ENOUGH and (low > 0 or high < 0) else "not settled"
    return f"{name} {values.mean():+.3f} ({low:+.3f} to {high:+.3f}, {len(values)} texts, {settled})"


class Claims:
    """What the papers say, tried on the rows of one setting."""

    def __init__(self, rows: dict[str, list[Row]]) -> None:
        self.rows = rows
        self.lines: list[str] = []

    def say(self, claim: str, verdict: str, numbers: str = "") -> None:
        self.lines.append(f"- {claim}: **{verdict}**" + (f": {numbers}" if numbers else ""))

    def higher(self, claim: str, more: str, less: str, figures: dict[str, PerText]) -> None:
        """That one defense is above another in each figure."""
        if more not in self.rows or less not in self.rows:
            return self.say(claim, "not measured")
        found = {name: difference(self.rows[more], self.rows[less], figure) for name, figure in figures.items()}
        signs = list(map(is_above, found.values()))
        verdict = "held" if all(signs) else "held in part" if any(signs) else "not held"
        notes = [f"`{name}` collapsed" for name in (more, less) if collapsed(self.rows[name])]
        self.say(claim, verdict, "; ".join([*(told(*item) for item in found.items()), *notes]))

    def certified_most(self, name: str, among: Iterable[str], radius: int | None) -> None:
        """That a defense has the highest certified accuracy, compared with each other one text by text."""
        where = "the whole space" if radius is None else f"r = {radius}"
        claim = f"{name} has the highest certified accuracy, {where}"
        if name not in self.rows:
            return self.say(claim, "not measured")
        if collapsed(self.rows[name]):
            return self.say(claim, "not held", "it collapsed")
        others = [own for own in among if own != name and not is_smoothed(self.rows[own])]
        gaps = {
            own: difference(self.rows[name], self.rows[own], certified(radius))
            for own in others
            if not collapsed(self.rows[own])
        }
        if not gaps:
            return self.say(claim, "not measured")
        nearest = min(gaps, key=lambda own: gaps[own].mean())
        value = np.mean(list(map(mean_of(certified(radius)), self.rows[name])))
        numbers = told(f"it has {value:.3f}; against the best other, `{nearest}`,", gaps[nearest])
        self.say(claim, "held" if is_above(gaps[nearest]) else "not held", numbers)

    def rho_most(self, name: str) -> None:
        """That a defense has the highest rho of those asked about as many texts and words."""
        claim = f"{name} has the highest rho"
        if name not in self.rows or self.rows[name][0]["rho"] is None:
            return self.say(claim, "not measured")
        if collapsed(self.rows[name]):
            return self.say(claim, "not held", "it collapsed")
        asked = self.rows[name][0]["sizes"]["rho_texts"], self.rows[name][0]["rho"]["words"]
        means = {
            own: float(np.mean(list(map(rho, rows))))
            for own, rows in self.rows.items()
            if not collapsed(rows)
            and all(row["rho"] and (row["sizes"]["rho_texts"], row["rho"]["words"]) == asked for row in rows)
        }
        if len(means) < 2:
            return self.say(claim, "not measured")
        ranked = sorted(means, key=lambda own: -means[own])
        best = ", ".join(f"`{own}` {means[own]:.3f}" for own in ranked[:4])
        is_first = means[name] > max(mean for own, mean in means.items() if own != name)
        self.say(claim, "held" if is_first else "not held", f"it has {means[name]:.3f}; the highest are {best}")

    def close(self, claim: str, exempt: tuple[str, ...]) -> None:
        """That no defense costs more than a little of the clean accuracy, and that the loss of each falls."""
        if "plain" not in self.rows:
            return self.say(claim, "not measured")
        gaps = {name: difference(rows, self.rows["plain"], right) for name, rows in self.rows.items()}
        far = [name for name, values in gaps.items() if values.mean() < -_CLOSE]
        rising = [f"`{name}` seed {row['seed']}" for name, rows in self.rows.items() for row in rows if not falls(row)]
        numbers = "; ".join(
            told(f"`{name}`" + (" (certified training)" if base(name) in exempt else ""), gaps[name]) for name in far
        )
        is_wrong = rising or any(base(name) not in exempt for name in far)
        ends = f"farther below plain: {numbers or 'none'}; loss highest at the end: {', '.join(rising) or 'none'}"
        self.say(claim, "not held" if is_wrong else "held", ends)


def base(name: str) -> str:
    return name.removesuffix("+shared").partition("?")[0]


def falls(row: Row) -> bool:
    """Whether the last epoch's loss is below the highest: a schedule may raise what is asked for on the way."""
    losses = row["training"]["losses"]
    return len(losses) < 2 or losses[-1] < max(losses)


def judged(rows: dict[str, list[Row]], left_out: Iterable[str] = ()) -> list[str]:
    """Each claim about the defenses of a setting, but for those that its kind of model cannot take."""
    claims = Claims(rows)
    claims.close("each defense trains, clean accuracy within 3 points of plain", ("ibp",))
    under = {attack: kept(attack) for attack in ATTACKS}
    claims.higher("FreeLB++ above FreeLB under attack", "freelb++", "freelb", under)
    claims.higher("FreeLB above plain under attack", "freelb", "plain", under)
    for name in ("safer", "dne", "ascc"):
        claims.higher(f"sharing the synonyms helps {name}", f"{name}+shared", name, under)
    apart = [name for name in rows if not name.endswith("+shared")]
    for radius in (*RADII, None):
        for own, among in (("ibp", apart), ("ibp+shared", rows)):
            if own not in left_out:
                claims.certified_most(own, among, radius)
    claims.rho_most("sp-defense")
    for own in ("minimal", "minimal+shared"):
        ends = {f"{end} end": fewest(end) for end in ("lower", "upper")}
        claims.higher(f"{own} raises the mean minimum number of swaps", own, "plain", ends)
    return claims.lines
