"""Load: every kind of name finds its victim, and what cannot be loaded says what would work."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from lexproof.errors import InputError, ModelError
from lexproof.victims.blackbox import BlackBox
from lexproof.victims.endpoint import Endpoint
from lexproof.victims.load import embedded, load
from lexproof.victims.sklearn import Sklearn

USER_CODE = """
import numpy as np
from lexproof.victims.blackbox import BlackBox

def named(texts):
    return [[0.2, 0.8] for _ in texts]

named.labels = ["no", "yes"]

def unnamed(texts):
    return [[0.2, 0.8] for _ in texts]

class Pipeline:
    classes_ = np.array(["a", "b"])
    def predict_proba(self, texts):
        return np.tile([0.4, 0.6], (len(texts), 1))

pipeline = Pipeline()

def make_pipeline():
    return Pipeline()

def make_victim(kind="x"):
    return BlackBox(named, ["u", "v"], name="made")

def make_failure():
    raise RuntimeError("no data")

def picky(pairs):
    return [[0.5, 0.5] for premise, hypothesis in pairs]

def constant(texts):
    return 0.5

number = 3
"""


@pytest.fixture
def user_file(tmp_path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(USER_CODE)
    return file


def test_functions(user_file):
    victim = load(f"{user_file}:named")
    assert isinstance(victim, BlackBox) and victim.labels == ("no", "yes")
    np.testing.assert_array_equal(victim.scores(["a", "b"]), [[0.2, 0.8]] * 2)
    assert load(f"{user_file}:unnamed").labels == ("0", "1")
    other = load(f"{user_file}:unnamed", labels=["n", "y"], batch_size=5)
    assert isinstance(other, BlackBox) and (other.labels, other.batch_size) == (("n", "y"), 5)


def test_pipelines_victims_and_makers(user_file):
    for name in ("pipeline", "make_pipeline"):
        victim = load(f"{user_file}:{name}")
        assert isinstance(victim, Sklearn) and victim.labels == ("a", "b")
    assert load(f"{user_file}:make_victim").name == "made"
    assert load(f"{user_file}:pipeline", labels=["x", "y"]).labels == ("x", "y")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "picky",
            r"expected label names for '.*mine.py:picky', got none, and .* raised ValueError: .*; set function.labels",
        ),
        ("constant", r"expected '.*mine.py:constant' to return scores of shape \(1, classes\), got \(\)"),
        ("number", r"expected a function, a pipeline or a victim in '.*mine.py:number', got int"),
        ("make_failure", r"'.*mine.py:make_failure' raised RuntimeError: no data"),
        ("missing", r"expected 'missing' in '.*mine.py', got only: .*make_victim"),
    ],
)
def test_user_code_that_cannot_be_used(user_file, name, message):
    with pytest.raises(ModelError, match=message):
        load(f"{user_file}:{name}")


def test_endpoints():
    victim = load("http://localhost:1/predict", labels=["a", "b"])
    assert isinstance(victim, Endpoint) and victim.name == "http://localhost:1/predict"


def test_embedded_models_are_folders_with_a_record():
    for name, folder in embedded().items():
        assert json.loads((folder / "model.json").read_text())["format"] == 1
        assert load(name).classes >= 2


# ---------------------------------------------------------------------- refusals


class Bomb:
    def __reduce__(self):
        return (print, ("a pickle was read",))


def test_pickles_are_refused_by_name_and_by_content(tmp_path, capsys):
    content = pickle.dumps(Bomb())
    for name in ("model.pkl", "model.joblib", "pytorch_model.bin", "weights.pt", "harmless.dat"):
        file = tmp_path / name
        file.write_bytes(content)
        with pytest.raises(ModelError, match=rf"got '.*{name}': a pickle is refused because reading one can run code"):
            load(file)
    with zipfile.ZipFile(tmp_path / "torch.dat", "w") as archive:
        archive.writestr("archive/data.pkl", content)
    with pytest.raises(ModelError, match=r"got '.*torch.dat': a pickle is refused"):
        load(tmp_path / "torch.dat")
    assert capsys.readouterr().out == ""


def test_a_folder_with_a_pickle_only(tmp_path):
    (tmp_path / "model.pkl").write_bytes(b"\x80\x04.")
    with pytest.raises(ModelError, match=r"model.pkl': a pickle is refused"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, r"expected model.json or config.json in '.*', got an empty folder"),
        ({"notes.txt": "x"}, r"expected model.json or config.json in '.*', got notes.txt"),
        ({"model.json": "{"}, r"expected JSON in '.*model.json', got"),
        ({"model.json": "[]"}, r"expected an object with 'kind' in '.*model.json'"),
    ],
)
def test_folders_that_hold_no_model(tmp_path, files, message):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(ModelError, match=message):
        load(tmp_path)


def test_files_that_are_no_model(tmp_path, user_file):
    with pytest.raises(ModelError, match=r"expected a function name too, got '.*mine.py'; write mine.py:function"):
        load(user_file)
    (tmp_path / "model.safetensors").write_bytes(b"12345678{}")
    with pytest.raises(ModelError, match=r"expected a model folder, got the file '.*model.safetensors'; what works: "):
        load(tmp_path / "model.safetensors")


@pytest.mark.parametrize("spec", ["no/such/folder", "./here", "missing.pt", "two words", ""])
def test_names_that_lead_nowhere(spec):
    with pytest.raises(
        InputError, match=r"expected a model, got '.*', which is not there; what works: .*file.py:function"
    ):
        load(spec)


def test_a_hub_name_without_a_network_gives_one_line_at_once(monkeypatch):
    pytest.importorskip("transformers")
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "https://hub.invalid")
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    message = r"cannot load 'lexproof/none' as a sequence classifier \(no network, .*\): .*; what works: "
    with pytest.raises(ModelError, match=message) as caught:
        load("lexproof/none")
    assert "\n" not in str(caught.value)
