"""The embedded movie-review classifier: a bracket for one sentence, with its evidence; needs `lexproof[torch]`."""

import json

import lexproof as lp

victim = lp.load("movies-cnn")
text = "a charming and often affecting journey with a wonderful cast"
space = lp.Space.around(text, lp.candidates.default(), max_swaps=3)
answer = lp.minimize(victim, space)
print(json.dumps(answer.to_json(), indent=2))
if answer.certificate is not None:
    label = int(victim.predict([text])[0])
    lp.recheck(answer.certificate, victim, space, label)
    print(f"re-derived: no text with at most {answer.certificate.radius} swaps fools it")
