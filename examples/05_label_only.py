"""A classifier that only says its label: the decision-based attack, and why the others are refused."""

import lexproof as lp


def moderate(texts: list[str]) -> list[str]:
    """Flags a text as soon as two of its words are on a list; gives no score."""
    listed = {"awful", "stupid", "horrible", "idiotic"}
    return ["flag" if sum(word in listed for word in text.lower().split()) >= 2 else "pass" for text in texts]


victim = lp.BlackBox(moderate, labels=["pass", "flag"], scores=False)
space = lp.Space(
    "this awful film has a stupid plot",
    [[], ["dreadful", "bad"], ["movie"], [], [], ["silly", "foolish"], ["story"]],
)
try:
    lp.find(victim, space, label=1, attack="textfooler")
except lp.InputError as error:
    print(error)
print(lp.find(victim, space, label=1))
print(lp.minimize(victim, space, label=1))
