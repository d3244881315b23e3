"""Audit a scikit-learn pipeline on your own texts; needs `pip install 'lexproof[sklearn]'`."""

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import lexproof as lp

data = lp.read("demo")
half = len(data) // 2
pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)).fit(data.texts[:half], data.labels[:half])
victim = lp.Sklearn(pipeline, labels=data.label_names)
result = lp.audit(victim, data.texts[half:], data.labels[half:], name="second half of demo")
for point in result.summary["curve"]:
    attacked, certified = point["attacked"]["value"], point["certified"]["value"]
    print(f"{point['swaps']} swaps: accuracy between {certified:.2f} (proven) and {attacked:.2f} (not broken)")
