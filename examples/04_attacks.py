"""Several attacks on the same space: how few swaps each needs, and at what cost; needs `lexproof[torch]`."""

import lexproof as lp

victim = lp.load("movies-cnn")
text = "a gripping and often funny drama with a wonderful cast, a clever script and a moving end"
space = lp.Space.around(text, lp.candidates.default(), max_share=0.25)
label = int(victim.predict([text])[0])
for attack in (
    "random",
    "textfooler",
    "pwws",
    "a2t",
    "hotflip",
    "genetic",
    "sempso",
    "mcts",
    "pdp",
    "best",
    "decision",
):
    answer = lp.find(victim, space, label, attack=attack, seed=0)
    found = f"{answer.swaps} swaps" if isinstance(answer, lp.Broken) else "no flip"
    print(f"{attack:12} {found:8} {answer.queries:6} queries")
print(lp.minimize(victim, space, label).lower, "swaps are needed at least")
