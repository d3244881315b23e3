"""A proof that no allowed swap fools the embedded classifier, written as JSON and checked by separate code."""

import json

import lexproof as lp

victim = lp.load("movies-cnn")
text = "Two hours of noise, explosions and half-finished jokes that never add up to a story."
space = lp.Space.around(text, lp.candidates.default(), max_swaps=3)
print(f"{space.size:,} texts with at most {space.max_swaps} swaps")

answer = lp.prove(victim, space)
print(answer.kind, answer.certificate.method if isinstance(answer, lp.Robust) else "")

if isinstance(answer, lp.Robust):
    line = json.dumps(lp.export_certificate(answer, space))
    checked = lp.check(json.loads(line), victim)
    print(f"{len(line):,} bytes, {checked.status} in {checked.seconds:.2f} s")
    for step in checked.steps:
        print(f"  {step.first} to {step.last} swaps by {step.method}: {step.how}")

curve = lp.certified_curve(victim, space)
print("bounds alone, without branching, certify radius", curve.radius)
