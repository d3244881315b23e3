"""Whole certificates: real ones are verified for every kind of victim, forged ones are refused."""

import ast
import copy
import json
import re
from pathlib import Path

import numpy as np
import pytest
from tables import VICTIMS, space_of

import lexproof as lp
from lexproof.checker.texts import count_texts, texts
from lexproof.errors import ModelError
from toys import brute_minimum

CHECKER = Path(lp.__file__).parent / "checker"


def exported(answer, space):
    return json.loads(json.dumps(lp.export_certificate(answer, space)))


def wide_space(seed):
    """Nine words, most of them with substitutes of one token each."""
    rng = np.random.default_rng(seed)
    names = [f"w{rng.integers(0, 8)}" for _ in range(9)]
    return lp.Space(" ".join(names), [[f"{name}s{j}" for j in range(rng.integers(0, 3))] for name in names], 4)


@pytest.fixture(scope="module")
def proofs():
    """A certificate with a proof tree for more than one swap, of each kind of victim that has trees."""
    found = {}
    for kind in ("mlp", "mlp-mean", "cnn"):
        victim = VICTIMS[kind]()
        for seed in range(300):
            space = wide_space(seed)
            answer = lp.minimize(victim, space)
            certificate = getattr(answer, "certificate", None)
            if certificate is None or certificate.radius < 2 or answer.upper is None:
                continue
            if certificate.steps[-1].detail.get("proof") and certificate.steps[-1].last >= 2:
                found[kind] = victim, space, exported(answer, space), answer
                break
    return found


# ---------------------------------------------------------------------- what is true is verified


@pytest.mark.parametrize("kind", ["mlp", "mlp-mean", "cnn", "cnn-deep", "lstm", "bilstm", "blackbox", "labels-only"])
def test_every_certificate_of_small_spaces_is_verified(kind):
    victim = VICTIMS[kind]()
    for seed in range(12):
        space = space_of(seed, words=7)
        answer = lp.minimize(victim, space)
        record = exported(answer, space)
        checked = lp.check(record, victim)
        assert checked.status == "verified", checked
        assert checked.reason == ""
        assert checked.radius == answer.certificate.radius
        least = brute_minimum(victim, space, record["label"])
        assert least is None or least > checked.radius


def test_trees_are_verified_as_trees(proofs):
    assert proofs.keys() == {"mlp", "mlp-mean", "cnn"}
    for victim, _, record, answer in proofs.values():
        checked = lp.check(record, victim)
        assert checked.status == "verified"
        assert checked.holds
        last = checked.steps[-1]
        assert last.how == "every bound of its proof tree was recomputed"
        assert last.regions > 0
        assert last.last == answer.lower - 1
        assert json.loads(json.dumps(checked.to_json()))["steps"][0]["status"] == "verified"


def test_targets():
    victim = VICTIMS["mlp"]()
    seen = 0
    for seed in range(40):
        space = wide_space(seed)
        label = int(victim.predict([space.original.input])[0])
        answer = lp.minimize(victim, space, label=label, target=(label + 1) % 3)
        record = exported(answer, space)
        checked = lp.check(record, victim)
        assert checked.status == "verified"
        seen += "tree" in checked.steps[-1].how
    assert seen > 3


def test_bounds_are_verified_by_texts_or_derived_again():
    victim = VICTIMS["mlp-mean"]()
    for seed in range(40):
        space = wide_space(seed)
        answer = lp.prove(victim, space, provers=["interval", "linear"])
        if answer.kind == "robust" and answer.radius > 1:
            record = exported(answer, space)
            assert lp.check(record, victim).status == "verified"
            checked = lp.check(record, victim, max_points=1)
            assert checked.status == "derived again"
            assert checked.reason == "derived again by the same code that made it, not verified independently"
            assert {step.status for step in checked.steps} == {"verified", "derived again"}
            record["steps"][-1]["margin"] += 50.0
            assert "expected margins of logits above" in lp.check(record, victim).reason
            return
    raise AssertionError("no bound proves anything")


def test_a_black_box_has_no_bounds():
    victim, space = VICTIMS["blackbox"](), space_of(1, words=4)
    record = exported(lp.minimize(victim, space), space)
    record["steps"][0]["method"] = "linear"
    assert "expected the enumeration of a 'blackbox' victim, which has no logits" in lp.check(record, victim).reason


def test_what_is_false_is_not_derived_again():
    victim = VICTIMS["lstm"]()
    for seed in range(40):
        space = space_of(seed, words=7)
        label = int(victim.predict([space.original.input])[0])
        if brute_minimum(victim, space, label) == 1:
            record = exported(lp.minimize(victim, space), space)
            step = {"method": "linear", "first": 1, "last": 1, "margin": 1.0, "points": 0, "detail": {}}
            record |= {"radius": 1, "steps": [*record["steps"], step]}
            assert "has scores" in lp.check(record, victim).reason
            checked = lp.check(record, victim, max_points=1)
            assert checked.status == "refused"
            assert "does not hold" in checked.reason
            return
    raise AssertionError("no such text")


def test_enumeration_needs_every_text():
    victim = VICTIMS["blackbox"]()
    spaces = (space_of(seed, words=7) for seed in range(50))
    answer, space = next((a, s) for a, s in ((lp.minimize(victim, s), s) for s in spaces) if a.certificate.radius > 1)
    record = exported(answer, space)
    count = sum(step["points"] for step in record["steps"])
    assert count > 1
    checked = lp.check(record, victim, max_points=count - 1)
    assert checked.status == "refused"
    assert f"{count} texts are more than max_points={count - 1}; allow more to check them" in checked.reason
    assert checked.steps[0].status == "too large"


def test_texts_are_those_of_the_space():
    for seed in range(30):
        space = space_of(seed)
        for swaps in range(space.max_swaps + 1):
            every = list(texts(space.original, space.choices, swaps))
            points = space.points()
            expected = space.render(points[np.count_nonzero(points, axis=1) == swaps])
            assert sorted(every) == sorted(expected)
            assert len(every) == count_texts(space.choices, swaps, swaps)
    assert count_texts([["x"] * 9] * 300, 0, 300) == 10**300


# ---------------------------------------------------------------------- what is forged is refused


def raised(record):
    record["radius"] += 1
    record["steps"][-1]["last"] += 1


def without_first_substitute(record):
    next(options for options in record["choices"] if options).pop()
    space = lp.Space(lp.Text(tuple(record["text"]["words"]), tuple(record["text"]["gaps"])), record["choices"], 4)
    record["space"] = space.fingerprint


FORGED = {
    "radius": (raised, "expected|margin|bound"),
    "radius alone": (lambda r: r.update(radius=r["radius"] + 1), "expected steps up to"),
    "a label out of range": (lambda r: r.update(label=3), "expected a label from 0 to 2, got 3"),
    "another label": (lambda r: r.update(label=(r["label"] + 1) % 3), "has scores"),
    "a target out of range": (lambda r: r.update(target=7), "expected a target from 0 to 2, got 7"),
    "the label as target": (lambda r: r.update(target=r["label"]), "expected a target other than the label"),
    "another model": (lambda r: r.update(victim="0" * 16), "expected a certificate about the model"),
    "less rounding": (lambda r: r.update(rounding=1e-9), "expected a rounding of at least"),
    "a substitute less": (lambda r: next(c for c in r["choices"] if c).pop(), "expected a text and substitutes with"),
    "a substitute less, signed": (without_first_substitute, "expected"),
    "points": (lambda r: r["steps"][0].update(points=1), "expected all .* texts to be scored, got 1"),
    "margin of scores": (lambda r: r["steps"][0].update(margin=0.999), "expected a least margin of 0.999, got"),
    "no margin": (lambda r: r["steps"][0].update(margin=0.0), "expected a margin above"),
    "margin of logits": (lambda r: r["steps"][-1].update(margin=50.0), "expected"),
    "no margin of logits": (lambda r: r["steps"][-1].update(margin=0.0), "expected a margin above 0.0001, got 0"),
    "no rivals": (lambda r: r["steps"][-1]["detail"]["proof"].update(rivals=[]), "expected a tree for each of 2"),
    "a proof by name": (lambda r: r["steps"][-1]["detail"].update(proof="trust me"), "expected a"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
@pytest.mark.parametrize("kind", ["mlp", "mlp-mean", "cnn"])
def test_forged_certificates_are_refused(proofs, kind, name):
    victim, _, record, _ = proofs[kind]
    change, message = FORGED[name]
    forged = copy.deepcopy(record)
    change(forged)
    checked = lp.check(forged, victim)
    assert checked.status == "refused"
    assert not checked.holds
    assert re.search(message, checked.reason), checked.reason


@pytest.mark.parametrize("record", [None, [], {}, "certificate", 10**400, float("nan")])
def test_anything_else_is_refused(record):
    checked = lp.check(record, VICTIMS["blackbox"]())
    assert (checked.status, checked.radius, checked.steps) == ("refused", None, ())
    assert checked.reason.startswith("expected a certificate")


def test_an_empty_tree_for_everything(proofs):
    """The claim that the whole space holds, with the cheapest proof that one can write."""
    for kind, tree in (("mlp", {"bound": {"shares": {}, "slopes": {}}}), ("mlp", {"empty": True}), ("cnn", [])):
        victim, space, record, answer = proofs[kind]
        forged = copy.deepcopy(record)
        last = space.max_swaps
        assert answer.upper <= last
        proof = (
            {"rivals": [tree, tree], "radius": last}
            if kind == "cnn"
            else {"rivals": [{"swaps": last, "tree": tree}] * 2}
        )
        forged["radius"] = forged["steps"][-1]["last"] = last
        forged["steps"][-1]["detail"]["proof"] = proof
        assert lp.check(forged, victim).status == "refused"


def test_weights_that_do_not_give_the_scores(proofs, monkeypatch):
    victim, _, record, _ = proofs["mlp"]
    monkeypatch.setattr("lexproof.checker.networks._weights", lambda v: {k: 1.01 * w for k, w in _weights(v).items()})
    assert "expected scores of the model within its rounding of its weights" in lp.check(record, victim).reason


def _weights(victim):
    return {name: tensor.double().numpy() for name, tensor in victim.net.state_dict().items()}


def test_a_model_that_fails_says_nothing_about_the_certificate():
    space, answers = lp.Space("w1 w2", [["x"], []]), [[[0.1, 0.9]]]

    def score(texts):
        return answers[0] * len(texts)

    victim = lp.BlackBox(score, labels=["a", "b"])
    record = exported(lp.prove(victim, space), space)
    answers[0] = [[float("nan"), 0.5]]
    with pytest.raises(ModelError, match="finite scores"):
        lp.check(record, victim)


def test_the_checker_uses_none_of_the_provers():
    """Only what could not be verified is derived again, by one import inside the function that says so."""
    for path in CHECKER.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {node.module: node.col_offset for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        names |= {alias.name: 0 for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        rooms = {name.split(".")[1] for name in names if name.startswith("lexproof.")}
        assert not rooms & {"certify", "bounds", "engine", "attacks", "asking", "questions", "verbs", "running"}, path
        if "evidence" in rooms:
            assert path.name == "checking.py"
            assert names["lexproof.evidence"] > 0
