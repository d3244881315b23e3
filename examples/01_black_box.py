"""Any function from texts to scores can be asked the four questions."""

import lexproof as lp


def classify(texts: list[str]) -> list[list[float]]:
    """A toy spam filter: the more suspicious words, the more spam."""
    suspicious = {"free", "winner", "urgent", "prize"}
    scores = []
    for text in texts:
        spam = min(0.95, 0.2 + 0.35 * sum(word in suspicious for word in text.lower().split()))
        scores.append([1 - spam, spam])
    return scores


victim = lp.BlackBox(classify, labels=["ham", "spam"])
space = lp.Space(
    "urgent: claim the free prize today",
    choices=[["pressing"], [], [], ["complimentary", "gratis"], ["award"], []],
    max_swaps=3,
)
print(f"{space.size} texts can be written with at most {space.max_swaps} swaps")
print("find    ", lp.find(victim, space, label=1).witness)
print("minimize", lp.minimize(victim, space, label=1).swaps, "swaps are needed")
print("prove   ", lp.prove(victim, space.restrict(max_swaps=1), label=1).kind, "against a single swap")
print("count   ", lp.count(victim, space, label=1).value, "of the texts get through")
