"""Every defense trained by one loop and judged by the same questions: one table.

    python benchmarks/defenses.py mr-cnn mr-cnn-long mr-bilstm mr-minilm mr-minilm-long agnews-minilm
        --models models/defenses
        [--out benchmarks/records/defenses] [--only freelb,freelb++,safer+shared] [--seeds 0,1,2] [--train-texts N]
        [--set attacked=50 ...] [--table] [--page FILE] [--plot FILE]

Settings: mr-cnn, mr-bilstm, mr-minilm (2,000 training texts), agnews-minilm (1,000); and, for the claims that few texts
and epochs leave open, mr-cnn-long (500 texts attacked, 12 epochs) and mr-minilm-long (300 texts, 4 epochs), both
without early stopping.  Rows: `plain`, every registered defense, and `NAME+shared` for those whose synonyms may be the
attacker's.  A defense may have settings (`--only freelb++?steps=30`).

Each row (setting, defense, seed) is a file OUT/SETTING/DEFENSE-SEED.json, written after each part of it: an interrupted
run goes on where it was, and several processes may share the folders, since each locks the row it works on.  Models are
written to MODELS/SETTING/DEFENSE-SEED and used again; an interrupted training resumes from its checkpoint there.  A row
that is whole needs no model; one that was measured with other sizes or settings is measured again.  The run ends with
the table in Markdown, and with --table it only prints it, with what the papers claim and whether it is seen
(`defense_claims.py`).
"""

import argparse
import fcntl
import json
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accuracy import MODELS, VECTORS, Printer
from defense_claims import base
from defense_plot import draw
from defense_rows import PARTS, SUBSTITUTES, Sizes, Texts, parts
from defense_table import report, rows_in, whole_of, written_into

import lexproof as lp
from lexproof import registry
from lexproof.certify.cascade import PROVERS
from lexproof.data import read
from lexproof.defenses import defense_of, harden
from lexproof.errors import InputError, LexproofError, NoRule
from lexproof.text import Text
from lexproof.training.defense import Defense
from lexproof.victims.base import Victim
from lexproof.victims.folder import WORD_KINDS

RECORDS = Path(__file__).parent / "records" / "defenses"
PLAIN = "plain"
SHARED = "+shared"
SHARING = ("safer", "dne", "ascc", "ibp", "minimal")
"""Defenses that are also trained with the attacker's synonyms."""

SMOOTHED = ("safer", "ranmask")
"""Trained on another random version of a text each time: a network that starts from nothing learns more slowly."""

_CNN = Sizes(
    clean=100_000, attacked=100, minima=100, provers=",".join(PROVERS), max_queries=30_000, max_points=20_000,
    max_nodes=2000, limit=120.0,
    rho_texts=60, rho_words=500, rho_method="exact", patience=128, votes=1000,
)  # fmt: skip
# no minima, which no claim of these rows is about
_MANY = replace(_CNN, attacked=500, minima=0, rho_texts=500)
# what linear bounds prove of a recurrent network, texts scored by the thousand prove sooner
_BILSTM = replace(_CNN, provers="interval,enumeration", rho_words=300)
_TRANSFORMER = replace(
    _CNN, clean=1000, attacked=50, minima=20, provers="enumeration", max_queries=800, max_points=400,
    votes=200,
    rho_texts=20, rho_words=200, rho_method="euba", patience=32,
)  # fmt: skip
_MANY_OF_TRANSFORMER = replace(_TRANSFORMER, attacked=300, minima=0, rho_texts=0)
# texts are twice as long as those of mr, and an attack asks four times as often
_LONG = replace(_TRANSFORMER, attacked=20, minima=12, rho_texts=12)
# an attack asks the model hundreds of times a text
_FEWER = {
    "ada": "ada?limit=400",
    "mixada": "mixada?limit=400",
    "a2t": "a2t?limit=600",
    "minimal": "minimal?limit=100&max_points=200",
}
# at half of these, accuracy on the validation texts was still rising; ibp has 20 of its own
_RISING = {"ascc": 8, "dne": 8, "sp-defense": 8, "ibp": 10}
_RESTARTED = {"ada": 3, "mixada": 3}  # they start anew when the base model is trained


@dataclass(frozen=True)
class Bench:
    """A data set and a kind of model; `model` is its name in `accuracy.py`."""

    model: str
    seeds: tuple[int, ...]
    train_texts: int | None
    sizes: Sizes
    samples: int  # copies of a text that a smoothed model scores
    share: float  # of the sizes, for a smoothed model
    epochs: int
    specs: Mapping[str, str] = field(default_factory=dict)  # of defenses with settings of their own here
    own_epochs: Mapping[str, int] = field(default_factory=dict)  # of defenses that take their own number of epochs
    only: tuple[str, ...] = ()  # the rows; all if there are none
    is_patient: bool = False  # no early stopping: the best of all epochs is kept


SETTINGS = {
    "mr-cnn": Bench("mr-cnn", (0, 1, 2), None, _CNN, 25, 0.5, 6),
    "mr-cnn-long": Bench(
        "mr-cnn",
        (0, 1, 2),
        None,
        _MANY,
        25,
        0.5,
        12,
        only=(PLAIN, "freelb", "freelb++", "rand", "sp-defense"),
        is_patient=True,
    ),
    "mr-bilstm": Bench("mr-bilstm", (0, 1, 2), None, _BILSTM, 25, 0.3, 4, own_epochs=_RISING),
    "mr-minilm": Bench("mr-minilm", (0,), 2000, _TRANSFORMER, 10, 0.2, 2, _FEWER, _RESTARTED),
    "mr-minilm-long": Bench(
        "mr-minilm",
        (0,),
        2000,
        _MANY_OF_TRANSFORMER,
        10,
        0.2,
        4,
        only=(PLAIN, "freelb", "freelb++"),
        is_patient=True,
    ),
    "agnews-minilm": Bench("agnews-minilm", (0,), 1000, _LONG, 10, 0.3, 2, _FEWER, _RESTARTED),
}


def drawn(name: str, split: str, count: int | None, seed: int = 0) -> tuple[list[str], list[int]]:
    """Texts and labels of a split in the order of the seed, which is not that of the training."""
    data = read(name, split=split)
    order = np.random.default_rng(seed).permutation(len(data.texts))[:count]
    return [data.texts[at] for at in order], [data.labels[at] for at in order]


def texts_of(bench: Bench) -> Texts:
    """Test texts, and the most frequent words of letters of the training split."""
    data = MODELS[bench.model][0]
    counts = Counter(
        word.lower() for text in drawn(data, "train", None)[0] for word in Text.parse(text).words if word.isalpha()
    )
    words = sorted(counts, key=lambda word: (-counts[word], word))
    return Texts(*drawn(data, "test", None), words)


def spec_of(head: dict[str, Any]) -> str:
    """The defense with its settings, as it is trained."""
    return head.get("spec", head["defense"].removesuffix(SHARED))


def recipe_of(head: dict[str, Any]) -> dict[str, Any]:
    """What a model depends on; InputError or NoRule if its kind cannot be trained so."""
    _, kind, _, own, _ = MODELS[head["model"]]
    name = base(head["defense"])
    defense = Defense() if name == PLAIN else defense_of(spec_of(head))
    defense.check(kind, own)
    synonyms = SUBSTITUTES if head["defense"].endswith(SHARED) else None
    kept = {key: head[key] for key in ("model", "seed", "train_texts")}
    # a schedule needs the epochs that it was made for; counted against plain training, they are part of its cost
    is_slow = name in SMOOTHED and kind in WORD_KINDS
    epochs = head.get("own_epochs") or defense.defaults(kind).get("epochs", (1 + is_slow) * head["epochs"])
    patience = {"patience": epochs} if is_slow or head.get("is_patient") else {}
    return {**kept, "epochs": epochs, "defense": defense.spec, "synonyms": synonyms, **patience}


def beside(folder: Path, ending: str) -> Path:
    """A file beside a model, named after it; names of defenses with settings hold dots of their own."""
    return folder.with_name(folder.name + ending)


def train(recipe: dict[str, Any], defense: str, folder: Path) -> None:
    """Train a model and write it to the folder; beside it what it is and what processor time it took."""
    data, kind, has_vectors, own, _ = MODELS[recipe["model"]]
    checkpoint = beside(folder, ".checkpoint")
    was_begun = checkpoint.exists()
    begun = time.process_time()
    size = recipe["train_texts"]
    own = {**own, **{name: recipe[name] for name in ("epochs", "patience") if name in recipe}}
    victim = harden(
        Defense() if defense == PLAIN else defense,
        train=drawn(data, "train", size),
        kind=kind,
        valid=drawn(data, "dev", None if size is None else max(1, size // 4)),
        label_names=read(data, split="test").label_names,
        vectors=VECTORS if has_vectors else None,
        synonyms=recipe["synonyms"],
        seed=recipe["seed"],
        progress=Printer(),
        checkpoint=checkpoint,
        **own,
    )
    cpu = None if was_begun else time.process_time() - begun  # of a training in parts only the last is known
    victim.save(folder)
    checkpoint.unlink()
    written(beside(folder, ".json"), {"recipe": recipe, "cpu": cpu})


def model_of(head: dict[str, Any], recipe: dict[str, Any], folder: Path) -> tuple[Victim, dict[str, Any]]:
    """The model, trained if it is not there or was trained otherwise, and what its training was."""
    record = beside(folder, ".json")
    if not record.exists() or json.loads(record.read_text())["recipe"] != recipe:
        folder.parent.mkdir(parents=True, exist_ok=True)
        train(recipe, spec_of(head), folder)
    victim = lp.load(str(folder), **({"samples": head["samples"]} if head["samples"] else {}))
    own = victim.training
    losses = [entry["loss"] for entry in own["history"]]
    known = {"seconds": own.get("seconds"), "cpu": json.loads(record.read_text())["cpu"]}
    return victim, {**known, "best_epoch": own.get("best_epoch"), "losses": losses}


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Whether the row is ours while this lasts; the lock of a process that dies is released."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(path.name + ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def written(path: Path, row: dict[str, Any]) -> None:
    """Replace the file as a whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(row, separators=(",", ":")))
    temporary.replace(path)


def measure(path: Path, head: dict[str, Any], texts: Texts, models: Path) -> None:
    """Train the model if it is not there, and ask what the row does not hold yet."""
    try:
        recipe = recipe_of(head)
    except (InputError, NoRule) as error:  # such as interval training of a transformer: said in the table
        written(path, {**head, "left_out": str(error)})
        return
    head = json.loads(json.dumps({**head, "recipe": recipe}))  # as a file gives it back
    row = json.loads(path.read_text()) if path.exists() else {}
    if all(name in row for name in PARTS) and {name: row.get(name) for name in head} == head:
        return  # a row that is kept needs no model
    victim, training = model_of(head, recipe, models / head["setting"] / path.stem)
    head = {**head, "fingerprint": victim.fingerprint}
    row = row if {name: row.get(name) for name in head} == head else dict(head)
    row["training"] = training
    for name, ask in parts(victim, texts, Sizes(**head["sizes"]), head["seed"]).items():
        if name not in row:
            begun = time.perf_counter()
            row[name] = ask()
            written(path, row)
            print(f"  {name}: {time.perf_counter() - begun:.0f} s", flush=True)


def head_of(setting: str, defense: str, seed: int, bench: Bench) -> dict[str, Any]:
    """What a row is about: all that it depends on beside the code."""
    name, given = base(defense), defense.removesuffix(SHARED)
    is_smoothed = name in SMOOTHED
    sizes = bench.sizes.for_copies(bench.share) if is_smoothed else bench.sizes
    return {
        "setting": setting,
        "model": bench.model,
        "defense": defense,
        "seed": seed,
        "samples": bench.samples if is_smoothed else None,
        "train_texts": bench.train_texts,
        "epochs": bench.epochs,
        "sizes": asdict(sizes),
        **({"spec": bench.specs[given]} if given in bench.specs else {}),
        **({"own_epochs": bench.own_epochs[name]} if name in bench.own_epochs else {}),
        **({"is_patient": True} if bench.is_patient else {}),
    }


def rows(options: argparse.Namespace) -> Iterator[tuple[str, str, int, Bench]]:
    """The rows asked for, all defenses of a seed before the next seed."""
    names = list(registry.entries("defenses"))
    every = (PLAIN, *names, *(name + SHARED for name in SHARING))
    for setting in options.settings:
        bench = changed(SETTINGS[setting], options)
        wanted = options.only.split(",") if options.only else bench.only or every
        for seed in bench.seeds if options.seeds is None else map(int, options.seeds.split(",")):
            for defense in wanted:
                yield setting, defense, seed, bench


def changed(bench: Bench, options: argparse.Namespace) -> Bench:
    """The setting with the sizes of the command line."""
    kinds = {field.name: type(getattr(bench.sizes, field.name)) for field in fields(Sizes)}
    given = dict(item.split("=", 1) for item in options.set)
    sizes = replace(bench.sizes, **{name: kinds[name](value) for name, value in given.items()})
    own = {name: getattr(options, name) for name in ("train_texts", "epochs", "samples", "share")}
    return replace(bench, sizes=sizes, **{name: value for name, value in own.items() if value is not None})


def run(options: argparse.Namespace) -> list[str]:
    """Measure the rows that no other process is at; which failed, and why."""
    texts: dict[str, Texts] = {}
    failed = []
    for setting, defense, seed, bench in rows(options):
        name = f"{defense.replace('?', '_')}-{seed}"
        path = options.out / setting / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(options.models / setting / name) as is_ours:
            if not is_ours:
                continue
            print(f"{setting} {defense} seed {seed}", flush=True)
            if setting not in texts:
                texts[setting] = texts_of(bench)
            try:
                measure(path, head_of(setting, defense, seed, bench), texts[setting], options.models)
            except LexproofError as error:  # the other rows go on
                failed.append(f"{setting} {defense} seed {seed}: {error}")
                print(f"  {error}", flush=True)
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("settings", nargs="+", choices=SETTINGS, metavar="SETTING", help=", ".join(SETTINGS))
    parser.add_argument("--models", type=Path, help="folder of the trained models")
    parser.add_argument("--out", type=Path, default=RECORDS, help="folder of the rows [benchmarks/records/defenses]")
    parser.add_argument("--only", default="", help="defenses, separated by commas [those of the setting]")
    parser.add_argument("--seeds", help="separated by commas [those of the setting]")
    parser.add_argument(
        "--train-texts", type=int, help="train on so many texts [all, or 2,000 and 1,000 for transformers]"
    )
    parser.add_argument("--epochs", type=int, help="[those of the setting]")
    parser.add_argument("--set", action="append", default=[], metavar="SIZE=N", help=", ".join(Sizes.__annotations__))
    parser.add_argument("--samples", type=int, help="copies of a text that a smoothed model scores")
    parser.add_argument("--share", type=float, help="of the sizes for a smoothed model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="measure nothing, print what is there")
    parser.add_argument("--page", type=Path, help="write the tables between their marks in this page, too")
    parser.add_argument("--plot", type=Path, help="write a picture of the table (.svg, .png; needs matplotlib)")
    options = parser.parse_args()
    if options.models is None and not options.table:
        parser.error("expected --models FOLDER, got none")
    torch.set_num_threads(options.threads)
    failed = [] if options.table else run(options)
    for setting in options.settings:
        print(report(options.out / setting))
        if options.page is not None:
            written_into(options.page, options.out / setting)
    if options.plot is not None:
        found = {setting: whole_of(rows_in(options.out / setting)) for setting in options.settings}
        if not any(found.values()):
            raise SystemExit(f"expected finished rows in {options.out} to draw, got none")
        draw({setting: rows for setting, rows in found.items() if rows}, options.plot)
    if failed:
        raise SystemExit("not measured: " + "; ".join(failed))


if __name__ == "__main__":
    main()
