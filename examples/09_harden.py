"""Train a model that holds, from one that does not, and see what it costs and brings."""

import lexproof as lp

data = lp.read("demo")
train = data.texts[:40], data.labels[:40]
test = list(zip(data.texts[40:], data.labels[40:], strict=True))
plain = lp.load("movies-cnn")
attacker = lp.candidates.default()

models = {"plain": plain}
for defense in ("ascc", "minimal"):
    # the defender's synonyms are WordNet's, not the attacker's; a few epochs on 40 texts show how, not how well
    models[defense] = lp.harden(defense, train=train, model=plain, epochs=5, learning_rate=2e-3, seed=0)

for name, victim in models.items():
    swaps = []
    for text, label in test:
        answer = lp.minimize(victim, lp.Space.around(text, attacker, max_share=0.25), label)
        swaps.append((answer.lower, answer.upper))
    clean = sum(lower > 0 for lower, _ in swaps)
    held = sum(upper is None for _, upper in swaps)
    print(f"{name:8} {clean} of {len(test)} right, {held} that no swap of a quarter of the words fools")
    if name != "plain":
        print(f"         {victim.training['defense']}")
