"""CNN against LSTM by position in the text: figure 6.

Certified L2 radii of every word that a network reads; on sst2 of texts of at most 14 tokens, the same for all networks;
on agnews the LSTM reads the first 14 tokens, a CNN the first 49.  A text's radii are divided by their mean, so that
each text weighs the same.  Trends, from Spearman's rank correlation of radius with position, one value a text:

    LSTM        its mean is above 0: the first words are the least robust
    against     LSTM minus CNN on the texts that both have is above 0: the CNN does not share it

Whether that is the networks' doing or the bounds': the same correlation of the distances at which descent finds a flip,
which know nothing of bounds.
"""

from pathlib import Path

import numpy as np
from names import accuracies, parts
from radii import Task, descend, flips_log, log_of, run
from records import Record, Source, present
from scipy.stats import spearmanr
from trends import Finding, findings_table, interval_of_mean, markdown

SHORT = 14
LONGEST = {"sst2": SHORT, "agnews": None}
NETWORKS = {
    "sst2": ["sst2-lstm-trained50", "sst2-cnn-trained50", "sst2-pool-trained50"],
    "agnews": ["agnews-short-trained50", "agnews-cnn-trained50", "agnews-pool-trained50"],
}
TITLES = {"lstm": "LSTM 256", "short": "LSTM 256, 14 tokens", "cnn": "CNN, flattened", "pool": "CNN, max-pool"}
COLORS = {"lstm": "#b2182b", "short": "#b2182b", "cnn": "#2166ac", "pool": "#4daf8a"}
LEAST = 5  # texts behind a dot of the figure
WORDS = 4  # of a text, for a correlation to mean anything


def measure(source: Source, out: Path, count: int, only: str) -> None:
    names = present(source, [name for names in NETWORKS.values() for name in names], only)
    tasks = [Task(name, "2", "each", LONGEST[parts(name)[0]]) for name in names]
    run(tasks, source, log_of(out), count)
    run(tasks, source, flips_log(out), count, descend)


def report(models: Path, out: Path) -> str:
    log = log_of(out)
    by_name = {
        name: [r for r in log.newest(norm="2", spec="each", longest=LONGEST[data]) if r["model"] == name]
        for data, names in NETWORKS.items()
        for name in names
    }
    by_name = {name: own for name, own in by_name.items() if own}
    if not by_name:
        return "No results yet."
    draw(by_name, out / "positions.svg")
    head = ["network", "accuracy", "texts", "radius, mean", "first third", "middle", "last third",
            "Spearman with position [95 %]", "of the nearest flip found", "processor s a text"]  # fmt: skip
    accuracy = accuracies(models)
    flips = flips_log(out).newest(norm="2", spec="each")
    rows = [
        _row(name, own, [r for r in flips if r["model"] == name], accuracy.get(name, float("nan")))
        for name, own in by_name.items()
    ]
    note = "Thirds: mean radius of the words there, divided by the mean of their text."
    return f"{note}\n\n{markdown(head, rows)}\n\n{findings_table(_findings(by_name))}\n\nFigure: positions.svg"


def profile(record: Record) -> tuple[np.ndarray, np.ndarray]:
    """Places of the words, and their radii divided by the mean of the text."""
    places = np.array([places[0] for places in record["places"]])
    radii = np.array(record["radii"])
    mean = radii.mean()
    return places, radii / mean if mean > 0 else np.ones_like(radii)


def correlation(record: Record) -> float | None:
    """Spearman's rank correlation of radius with position; None for short texts and radii that are all equal."""
    places, radii = profile(record)
    if len(radii) < WORDS or (radii == radii[0]).all():
        return None
    return float(spearmanr(places, radii).statistic)


def correlations(own: list[Record]) -> dict[int, float]:
    found = {r["text"]: correlation(r) for r in own}
    return {text: value for text, value in found.items() if value is not None}


def flip_correlation(record: Record) -> float | None:
    """The same of the distances of flips, over the words that have one."""
    known = [(places[0], far) for places, far in zip(record["places"], record["flips"], strict=True) if far is not None]
    if len(known) < WORDS or len({far for _, far in known}) == 1:
        return None
    return float(spearmanr(*zip(*known, strict=True)).statistic)


def _row(name: str, own: list[Record], flips: list[Record], accuracy: float) -> list[str]:
    data, network, _, _ = parts(name)
    radii = np.concatenate([r["radii"] for r in own])
    thirds = np.array([_thirds(r) for r in own if len(r["radii"]) >= WORDS]).mean(0)
    mean, low, high = interval_of_mean(list(correlations(own).values()))
    far = [value for value in map(flip_correlation, flips) if value is not None]
    other = "{:+.2f} [{:+.2f}, {:+.2f}]".format(*interval_of_mean(far)) if far else ""
    return [
        f"{data} {TITLES[network]}", f"{accuracy:.3f}", f"{len(own)}", f"{radii.mean():.4f}",
        *(f"{value:.2f}" for value in thirds), f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]", other,
        f"{np.mean([r['processor'] for r in own]):.2f}",
    ]  # fmt: skip


def _thirds(record: Record) -> list[float]:
    return [float(part.mean()) for part in np.array_split(profile(record)[1], 3)]


def _findings(by_name: dict[str, list[Record]]) -> list[Finding]:
    found = []
    for data, (lstm, *rest) in NETWORKS.items():
        if lstm not in by_name:
            continue
        own = correlations(by_name[lstm])
        claim = f"{data}: the first words are the least robust of an LSTM's"
        found.append(Finding(claim, "mean Spearman of radius with position", *interval_of_mean(list(own.values())), 1))
        for cnn in [name for name in rest if name in by_name]:
            other = correlations(by_name[cnn])
            gaps = [own[text] - other[text] for text in own.keys() & other.keys()]
            claim = f"{data}: not so of the {TITLES[parts(cnn)[1]]}"
            measure = f"mean difference of Spearman, LSTM - CNN, on {len(gaps)} texts"
            found.append(Finding(claim, measure, *interval_of_mean(gaps), 1))
    return found


def draw(by_name: dict[str, list[Record]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    sets = [data for data in NETWORKS if any(name.startswith(data) for name in by_name)]
    figure, axes = pyplot.subplots(1, len(sets), figsize=(5.2 * len(sets), 3.4), squeeze=False)
    for axis, data in zip(axes[0], sets, strict=True):
        for name in [name for name in NETWORKS[data] if name in by_name]:
            network = parts(name)[1]
            at, means, low, high = _dots(by_name[name])
            axis.fill_between(at, low, high, color=COLORS[network], alpha=0.15, linewidth=0)
            axis.plot(at, means, "o-", color=COLORS[network], markersize=3, linewidth=1, label=TITLES[network])
        axis.axhline(1, color="#888888", linewidth=0.8, linestyle=":")
        axis.set_title(data, fontsize=10)
        axis.set_xlabel("position of the word (token)")
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.legend(frameon=False, fontsize=8)
    axes[0, 0].set_ylabel("certified radius / mean of the text")
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)


def _dots(own: list[Record]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Positions with enough texts, the mean there, and its 95 % interval."""
    values: dict[int, list[float]] = {}
    for record in own:
        for place, radius in zip(*map(np.ndarray.tolist, profile(record)), strict=True):
            values.setdefault(place + 1, []).append(radius)
    at = sorted(place for place, found in values.items() if len(found) >= min(LEAST, len(own)))
    rows = np.array([interval_of_mean(values[place]) for place in at])
    return np.array(at), rows[:, 0], rows[:, 1], rows[:, 2]
