"""The frame of a question: attack, candidates and constraints, out of a recipe, a preset and explicit options.

A recipe gives all three; a preset goes before its constraints; what is said explicitly goes before both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import click

from lexproof.candidates.similarity import MEASURES, Encoder, SentenceEncoder, default_encoder
from lexproof.certify.cascade import PROVERS
from lexproof.cli.streams import screen
from lexproof.constraints import PRESETS, Constraints, preset
from lexproof.errors import InputError
from lexproof.recipes import TABLE, VARIANTS, Files, Plan, plan_of

_SHARE = 0.25  # of the words, where nothing else limits the swaps
_EXPLICIT = ("max_candidates", "max_share", "max_swaps", "floor", "window", "measure", "queries_per_word")

F = TypeVar("F", bound=Callable[..., Any])


def stack(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


space_options = stack(
    click.option("--candidates", help="NAME[:FILE][?setting=value&...], several joined by |; see docs/candidates.md "
                 "[default: default, or the recipe's]."),
    click.option("--max-swaps", type=click.IntRange(min=0), help="Most words swapped."),
    click.option("--max-share", type=float, help=f"Largest share of words swapped [default: {_SHARE}, or no limit with "
                 "--max-swaps, --preset or --recipe]."),
    click.option("--max-candidates", type=click.IntRange(min=1), help="Most substitutes a word."),
    click.option("--preset", help=f"Constraints of a benchmark: {', '.join(PRESETS)}; see docs/constraints.md."),
    click.option("--floor", type=float, help="Least similarity of a swapped text to the original."),
    click.option("--window", type=click.IntRange(min=1), help="Compare so many words around each swap only."),
    click.option("--measure", type=click.Choice(MEASURES), help="Of similarity [default: cosine]."),
    click.option("--encoder", help="Hugging Face folder of a sentence encoder [default: MiniLM]."),
)  # fmt: skip

_recipe_options = (
    click.option("--recipe", help="Candidates and constraints that --attack was published with: "
                 f"{', '.join(VARIANTS)}; see docs/attacks."),
    click.option("--masked-lm", metavar="FOLDER", help="Masked language model for bert-attack, bae and clare."),
    click.option("--words", metavar="FILE", help="Words that sp-attack puts into texts, one a line."),
)  # fmt: skip

budget_options = stack(
    click.option("--max-queries", type=click.IntRange(min=0), help="Budget of model inputs a text."),
    click.option("--queries-per-word", type=click.IntRange(min=1), help="Budget of model inputs a word of the text."),
)


def prover_options(max_points: int | None, max_nodes: int | None) -> Callable[[F], F]:
    """`--prover` and the limits of proofs that do not depend on the machine; None: no limit."""
    points = click.option(
        "--max-points",
        type=click.IntRange(min=0),
        default=max_points,
        show_default=True,
        help="Texts scored to prove each lower end; single swaps always are.",
    )
    return stack(
        click.option(
            "--prover",
            "provers",
            multiple=True,
            default=PROVERS,
            show_default=True,
            help="See `lexproof list provers`; may be given several times, tried from cheap to dear.",
        ),
        *([] if max_points is None else [points]),
        click.option(
            "--max-nodes",
            type=click.IntRange(min=0),
            default=max_nodes,
            show_default=max_nodes is not None,
            help="Nodes of branch and bound for each proof.",
        ),
    )


def attack_options(default: str) -> Callable[[F], F]:
    """`--attack`, which shows what is used if it is not given, and what may come with it."""
    text = f"See `lexproof list attacks` [default: {default}, or decision if the model gives labels only]."
    return stack(click.option("--attack", metavar="NAME[?setting=value&...]", help=text), *_recipe_options)


@dataclass(frozen=True, slots=True)
class Frame:
    """What is asked with; `attack` None for the question's own choice, `encoder` None where nothing is compared."""

    attack: str | None
    candidates: str
    constraints: Constraints
    encoder: Encoder | None
    remarks: tuple[str, ...] = ()

    def announce(self) -> None:
        """Say on standard error what a recipe or preset stands for."""
        for remark in self.remarks:
            screen.print(remark, markup=False, highlight=False, soft_wrap=True)


def frame_of(options: dict[str, Any]) -> Frame:
    """The frame that the options of a verb stand for; fails before anything long starts."""
    attack: str | None = options.get("attack")
    if attack is not None and not attack.strip():
        raise InputError("expected the name of an attack, got nothing; see `lexproof list attacks`")
    candidates = "default" if options.get("candidates") is None else options["candidates"]
    base = Constraints()
    remarks: tuple[str, ...] = ()
    is_named = any(options.get(name) is not None for name in ("recipe", "preset"))
    if options.get("recipe") is not None:
        attack, plan = _recipe(attack, options)
        candidates, base, remarks = plan.candidates, plan.constraints, plan.remarks
    else:
        _check_files(options, None)
    if options.get("preset") is not None:
        base = base.updated(preset(options["preset"]))
    if "queries_per_word" not in options:  # a verb without a budget, to which that of a preset means nothing
        base = replace(base, queries_per_word=None)
    constraints = _explicit(base, options, is_named)
    if is_named:
        limits = "; ".join(constraints.describe()) or "no limits"
        remarks = (f"candidates {candidates}; {limits}", *remarks)
    return Frame(attack, candidates, constraints, _encoder(constraints, options), remarks)


def _recipe(attack: str | None, options: dict[str, Any]) -> tuple[str, Plan]:
    """The attack in the recipe's variant, and what else belongs to it."""
    if attack is None:
        raise InputError(f"expected --attack with --recipe, got none; there are recipes for {', '.join(TABLE)}")
    name, _, query = attack.partition("?")
    if any(pair.startswith("variant=") for pair in query.split("&")):
        raise InputError(f"expected --recipe or variant= in --attack, got both: {options['recipe']} and {attack!r}")
    given = Files(masked_lm=options.get("masked_lm"), words=options.get("words"))
    plan = plan_of(name, options["recipe"], given, options.get("candidates"))
    _check_files(options, plan)
    settings = "&".join(filter(None, (f"variant={plan.search}" if plan.search else "", query)))
    return (f"{name}?{settings}" if settings else name), plan


def _check_files(options: dict[str, Any], plan: Plan | None) -> None:
    """Raise InputError for a file that belongs to recipes and that none uses."""
    for option, kind, what in (("masked_lm", "masked-lm", "FOLDER"), ("words", "vocabulary", "FILE")):
        flag = f"--{option.replace('_', '-')}"
        if options.get(option) is None:
            continue
        if plan is None:
            raise InputError(f"expected --recipe with {flag}, got none; or use --candidates {kind}:{what}")
        if options.get("candidates") is not None or f"{kind}:" not in plan.candidates:
            raise InputError(f"expected {flag} with a recipe that uses it, got candidates {plan.candidates}")


def _explicit(base: Constraints, options: dict[str, Any], named: bool) -> Constraints:
    """The constraints with what is said explicitly, and the usual share where nothing limits the swaps."""
    given = {name: options[name] for name in _EXPLICIT if options.get(name) is not None}
    if "max_share" in given:
        given["least_swaps"] = 1
        if not 0 < given["max_share"] <= 1:
            raise InputError(f"expected --max-share in (0, 1], got {given['max_share']}")
    elif not named and "max_swaps" not in given:
        given["max_share"] = _SHARE
    return replace(base, **given)


def _encoder(constraints: Constraints, options: dict[str, Any]) -> Encoder | None:
    if constraints.floor is None:
        for name in ("measure", "encoder"):
            if options.get(name) is not None:
                raise InputError(f"expected --floor with --{name}, got none")
        return None
    folder: str | None = options.get("encoder")
    if folder is None:
        return default_encoder()
    encoder = SentenceEncoder(folder)
    encoder.encode([])  # a search would take a model that cannot be read for trouble with one text
    return encoder
