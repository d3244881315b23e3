"""The studies of the maximal-safe-radius paper (La Malfa et al. 2020) as commands, on the networks of `models.py`.

    python benchmarks/msr/studies.py embeddings      --models models/msr --out results/msr [--texts 100]
    python benchmarks/msr/studies.py positions       ...
    python benchmarks/msr/studies.py counter-fitting ...
    python benchmarks/msr/studies.py substitutions   ...

Texts are drawn by the seed from those of the test split that a network classifies correctly; a network reads at most
25 (sst2), 49 (agnews) or 100 tokens (imdb).  Each text is written to OUT/*.jsonl as it is finished: an interrupted run
continues, and a run with more texts goes on from fewer.  A few texts of every network come first.  At the end, or
with --table alone and at any time, tables are printed as Markdown, with each trend of the paper and whether it is seen.
Figures are written to OUT/*.svg.  Networks that are not trained yet are left out.
"""

import argparse
from pathlib import Path
from types import ModuleType

import counter_fitting
import embeddings
import positions
import substitutions
import torch
from records import Source

STUDIES: dict[str, ModuleType] = {
    "embeddings": embeddings,
    "positions": positions,
    "counter-fitting": counter_fitting,
    "substitutions": substitutions,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=100, help="texts of each network")
    parser.add_argument("--only", default="", help="networks whose names contain this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", action="store_true", help="measure nothing, print what is there")
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.out.mkdir(parents=True, exist_ok=True)
    study = STUDIES[options.study]
    if not options.table:
        study.measure(Source(options.models, options.seed), options.out, options.texts, options.only)
    print(study.report(options.models, options.out))


if __name__ == "__main__":
    main()
