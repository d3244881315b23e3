"""Which single words break a classifier, and what becomes of accuracy without them."""

import lexproof as lp

victim = lp.load("movies-cnn")
data = lp.read("demo", limit=20)
vocabulary = ["never", "no", "wonderful", "tedious", "refreshing", "badly", "film", "table", "unfunny", "delightful"]

found = lp.flip_words(victim, data.texts, data.labels, vocabulary)
rho = found.rho
print(f"rho {rho.lower:.1%} over {rho.n} texts, {found.misclassified} misclassified left out")

for label, name in enumerate(victim.labels):
    print(name)
    for word in found.top(3, label):
        kappa = found.kappa(word, label)
        print(f"  {found.words[word]:12} {kappa.lower:.0%} [{kappa.low:.0%}, {kappa.high:.0%}]")
        for example in found.examples.get(word, ())[:1]:
            text = lp.Text.parse(data.texts[example.text])
            print(f"    {text.words[example.position]} -> {found.words[word]} in {str(text)[:60]!r}")
