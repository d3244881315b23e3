"""How far the words of a text may move in embedding space, and which words the prediction rests on."""

import lexproof as lp

victim = lp.load("movies-cnn")
text = "a charming and often affecting journey"

(brackets,) = lp.radii(victim, [text])  # each word by itself, L2
for bracket in brackets:
    (word,) = bracket.words
    nearest = bracket.replacement
    said = "" if nearest is None else f"; nearest word that flips: {nearest.changed[0].new} at {nearest.distance:.2f}"
    print(f"{text.split()[word]:10} {bracket}{said}")

pair = lp.radius(victim, text, words=[1, 4], norm="inf", uppers=["descent"])
print(f"charming and affecting together: {pair}")

explanation = lp.explain(victim, text)
for saliency in explanation.answered:
    print(saliency.method, [None if value is None else round(value, 2) for value in saliency.values])
