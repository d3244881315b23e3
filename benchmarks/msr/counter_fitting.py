"""Counter-fitted embeddings against plain ones for one to five substitutions: table 6, figures 7 and 11.

Certified L-infinity radii on agnews of index sets of 1 to 5 words, drawn by the seed (the same for both embeddings, at
most SETS of each size a text).  `fitted` starts from the `trained` vectors of the same dimension, `gfitted` from GloVe;
both are frozen while their network is trained.  Trends, from means over the texts:

    small       fitted above trained for dimensions 5 and 10: log ratio of means, all sizes together
    fading      the gain gets smaller with the dimension: slope of that log ratio against log dimension is below 0
    GloVe       there the effect is reversed (said of GloVeTwitter in figure 11): log ratio gfitted / glove is below 0
    dimension   in this norm, whose diameter is 1: slope of log mean radius of one word against log dimension is below 0
    size        more words at once, smaller radius: slope of log mean against log size is below 0
"""

from pathlib import Path

import numpy as np
from names import DIMENSIONS, accuracies, parts
from radii import Task, log_of, run
from records import Source, present
from trends import Finding, Floats, Sample, finding, findings_table, interval, log_ratio, log_slope, markdown

SIZES = (1, 2, 3, 4, 5)
DRAWN = 5  # index sets of each size a text
PAIRS = [(f"agnews-cnn-trained{d}", f"agnews-cnn-fitted{d}") for d in DIMENSIONS]
PAIRS += [(f"agnews-cnn-glove{d}", f"agnews-cnn-gfitted{d}") for d in (50, 100)]
# lower bounds of the paper's table 6 for 1 to 5 substitutions, plain and counter-fitted; GloVe 100 has none
PAPER = {
    "trained5": ((0.072, 0.029, 0.025, 0.018, 0.014), (0.145, 0.065, 0.054, 0.035, 0.030)),
    "trained10": ((0.026, 0.013, 0.008, 0.006, 0.005), (0.088, 0.043, 0.028, 0.020, 0.016)),
    "trained25": ((0.022, 0.011, 0.007, 0.005, 0.004), (0.032, 0.015, 0.010, 0.007, 0.006)),
    "trained50": ((0.015, 0.007, 0.005, 0.003, 0.003), (0.024, 0.012, 0.008, 0.005, 0.005)),
    "trained100": ((0.011, 0.006, 0.003, 0.003, 0.002), (0.015, 0.006, 0.003, 0.003, 0.002)),
    "glove50": ((0.040, 0.020, 0.013, 0.009, 0.008), (0.043, 0.020, 0.016, 0.010, 0.008)),
}

Cells = dict[tuple[str, int], dict[int, list[float]]]  # radii by text, of a network and a size


def spec_of(size: int) -> str:
    return f"{size}x{DRAWN}"


def measure(source: Source, out: Path, count: int, only: str) -> None:
    names = present(source, [name for pair in PAIRS for name in pair], only)
    run([Task(name, "inf", spec_of(size)) for name in names for size in SIZES], source, log_of(out), count)


def report(models: Path, out: Path) -> str:
    log = log_of(out)
    cells: Cells = {}
    for size in SIZES:
        for record in log.newest(norm="inf", spec=spec_of(size)):
            cells.setdefault((record["model"], size), {})[record["text"]] = record["radii"]
    pairs = [pair for pair in PAIRS if all((name, SIZES[0]) in cells for name in pair)]
    if not pairs:
        return "No results of a pair of networks yet."
    names = [name for pair in pairs for name in pair]
    sample = Sample.of({f"{name} {k}": cells.get((name, k), {}) for name in names for k in SIZES})
    shape = (-1, len(pairs), 2, len(SIZES))
    means, draws = sample.means().reshape(shape)[0], sample.draws().reshape(shape)
    draw_figure(pairs, means, draws, out / "counter-fitting.svg")
    parts_ = [_table(pairs, cells, means, draws, accuracies(models)), findings_table(_findings(pairs, means, draws))]
    return "\n\n".join([*parts_, "Figure: counter-fitting.svg"])


def _table(pairs: list[tuple[str, str]], cells: Cells, means: Floats, draws: Floats, accuracy: dict[str, float]) -> str:
    head = ["embedding", "accuracy, plain / fitted", "words", "texts", "plain, mean ± std", "fitted, mean ± std",
            "fitted / plain [95 %]", "paper: plain, fitted, ratio"]  # fmt: skip
    rows = []
    for at, (plain, fitted) in enumerate(pairs):
        _, _, kind, dim = parts(plain)
        for column, size in enumerate(SIZES):
            both = cells.get((plain, size), {}).keys() & cells.get((fitted, size), {}).keys()
            low, high = interval(draws[:, at, 1, column] / draws[:, at, 0, column])
            ratio = means[at, 1, column] / means[at, 0, column]
            rows.append([
                f"{kind} {dim}" if column == 0 else "",
                f"{accuracy.get(plain, np.nan):.3f} / {accuracy.get(fitted, np.nan):.3f}" if column == 0 else "",
                f"{size}", f"{len(both)}", _spread(cells, plain, size), _spread(cells, fitted, size),
                f"{ratio:.2f} [{low:.2f}, {high:.2f}]", _paper(f"{kind}{dim}", column),
            ])  # fmt: skip
    return markdown(head, rows)


def _spread(cells: Cells, name: str, size: int) -> str:
    radii = np.array([radius for own in cells.get((name, size), {}).values() for radius in own])
    return f"{radii.mean():.4f} ± {radii.std():.4f}" if len(radii) else ""


def _paper(embedding: str, column: int) -> str:
    if embedding not in PAPER:
        return ""
    plain, fitted = (row[column] for row in PAPER[embedding])
    return f"{plain}, {fitted}, {fitted / plain:.2f}"


def _findings(pairs: list[tuple[str, str]], means: Floats, draws: Floats) -> list[Finding]:
    gain = log_ratio(means[:, 1], means[:, 0]).mean(-1)  # (pairs,)
    gains = log_ratio(draws[:, :, 1], draws[:, :, 0]).mean(-1)  # (draws, pairs)
    found = []
    trained = [at for at, (plain, _) in enumerate(pairs) if parts(plain)[2] == "trained"]
    dims = [parts(pairs[at][0])[3] for at in trained]
    measure = "log ratio of means fitted / plain, mean over 1 to 5 words"
    for at, dim in zip(trained, dims, strict=True):
        if dim <= 10:
            claim = f"counter-fitting helps a trained embedding of dimension {dim}"
            found.append(finding(claim, measure, gain[at], gains[:, at], 1))
    if len(trained) > 1:
        slope, slopes = log_slope(dims, np.exp(gain[trained])), log_slope(dims, np.exp(gains[:, trained]))
        claim = "it helps less in higher dimensions"
        found.append(
            finding(claim, f"slope of that against log dimension ({min(dims)} to {max(dims)})", slope, slopes, -1)
        )
        slope, slopes = log_slope(dims, means[trained, 0, 0]), log_slope(dims, draws[:, trained, 0, 0])
        claim = "robustness falls with the dimension of a trained embedding"
        found.append(finding(claim, "slope of log mean radius of one word against log dimension", slope, slopes, -1))
    for at, (plain, _) in enumerate(pairs):
        if parts(plain)[2] == "glove":
            claim = f"the effect is reversed with GloVe {parts(plain)[3]}"
            found.append(finding(claim, measure, gain[at], gains[:, at], -1))
    slope = log_slope(SIZES, means).mean()
    measure = "slope of log mean radius against log number of words, mean over networks"
    found.append(
        finding("the more words, the smaller the radius", measure, slope, log_slope(SIZES, draws).mean((1, 2)), -1)
    )
    return found


def draw_figure(pairs: list[tuple[str, str]], means: Floats, draws: Floats, path: Path) -> None:
    """Left: means against the dimension (figure 11); right: their ratio against the number of words (7)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10.4, 3.8))
    shades = matplotlib.colormaps["viridis"](np.linspace(0, 0.85, len(SIZES)))
    for kind, marker in (("trained", "o"), ("glove", "s")):
        own = [at for at, (plain, _) in enumerate(pairs) if parts(plain)[2] == kind]
        dims = [parts(pairs[at][0])[3] for at in own]
        for column, size in enumerate(SIZES):
            for side, style in ((0, "--"), (1, "-")):
                label = f"{size} word{'s' * (size > 1)}" if kind == "trained" and side else None
                left.plot(dims, means[own, side, column], style, marker=marker, markersize=4, linewidth=1.2,
                          color=shades[column], label=label)  # fmt: skip
    left.set(xscale="log", yscale="log", xlabel="dimension of the embedding", ylabel="certified L∞ radius, mean")
    left.set_xticks(DIMENSIONS, [str(d) for d in DIMENSIONS])
    left.minorticks_off()
    left.set_title("solid: counter-fitted, dashed: plain; squares: GloVe", fontsize=9)
    left.legend(frameon=False, fontsize=8)
    for at, (plain, _) in enumerate(pairs):
        _, _, kind, dim = parts(plain)
        ratio = means[at, 1] / means[at, 0]
        low, high = np.transpose([interval(draws[:, at, 1, k] / draws[:, at, 0, k]) for k in range(len(SIZES))])
        right.errorbar(np.array(SIZES) + 0.05 * (at - len(pairs) / 2), ratio, (ratio - low, high - ratio), marker="o",
                       markersize=3, linewidth=1, capsize=2, label=f"{kind} {dim}")  # fmt: skip
    right.axhline(1, color="#888888", linewidth=0.8)
    right.set(xlabel="words that move", ylabel="counter-fitted / plain, mean radius", xticks=SIZES)
    right.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
