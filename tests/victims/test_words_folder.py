"""Model folders: what is saved loads as it was, and what is broken is named in one line."""

import json
import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from lexproof.errors import ModelError
from lexproof.victims.cnn import Cnn, CnnSettings
from lexproof.victims.folder import check_target, load_words
from lexproof.victims.lstm import BiLstm, BiLstmSettings, Lstm, LstmSettings
from lexproof.victims.mlp import Mlp, MlpSettings
from lexproof.victims.vocabulary import Vocabulary
from lexproof.victims.words import WordVictim

WORDS = Vocabulary(["good", "bad", "é", "\udc80", "film"])
TEXTS = ["a good film", "bad film é", "\udc80", ""]
SETTINGS = {
    Mlp: MlpSettings(dim=3, hidden=4, max_length=9, pooling="mean"),
    Cnn: CnnSettings(dim=3, filters=4, widths=(2, 3), layers=2, pooling="flatten", max_length=9),
    Lstm: LstmSettings(dim=3, units=4, max_length=9),
    BiLstm: BiLstmSettings(dim=3, units=4, max_length=9),
}


def build(kind: type[WordVictim] = Cnn) -> WordVictim:
    return kind(WORDS, ["neg", "pos"], settings=SETTINGS[kind], seed=1, training={"seed": 1})


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    build().save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("kind", SETTINGS)
def test_round_trip(kind: type[WordVictim], tmp_path: Path) -> None:
    victim = build(kind)
    victim.save(tmp_path / "deep" / "model")
    assert sorted(os.listdir(tmp_path / "deep")) == ["model"]
    assert sorted(os.listdir(tmp_path / "deep" / "model")) == ["model.json", "vocabulary.json", "weights.safetensors"]
    loaded = load_words(tmp_path / "deep" / "model")
    assert type(loaded) is kind
    assert loaded.fingerprint == victim.fingerprint
    assert (loaded.scores(TEXTS) == victim.scores(TEXTS)).all()
    assert loaded.settings == victim.settings
    assert loaded.training == {"seed": 1}
    assert loaded.name == "model"


def test_half_precision_takes_half_the_space(tmp_path: Path) -> None:
    victim = build()
    victim.save(tmp_path / "half", half=True)
    stored = load_file(tmp_path / "half" / "weights.safetensors")
    assert {tensor.dtype for tensor in stored.values()} == {torch.float16}
    loaded = load_words(tmp_path / "half")
    assert {tensor.dtype for tensor in loaded.net.state_dict().values()} == {torch.float32}
    assert abs(loaded.scores(TEXTS) - victim.scores(TEXTS)).max() < 1e-2
    loaded.save(tmp_path / "again", half=True)
    assert load_words(tmp_path / "again").fingerprint == loaded.fingerprint
    large = {name: w * 1e7 for name, w in victim.net.state_dict().items()}
    with pytest.raises(ModelError, match=r"expected weights within half precision, got larger ones in"):
        Cnn(WORDS, victim.labels, settings=victim.settings, weights=large).save(tmp_path / "x", half=True)
    assert not (tmp_path / "x").exists()


def test_saving_replaces_a_model_but_nothing_else(saved: Path, tmp_path: Path) -> None:
    build(Mlp).save(saved)
    assert load_words(saved).kind == "mlp"
    assert os.listdir(tmp_path) == ["model"]
    other = tmp_path / "other"
    other.mkdir()
    build().save(other)  # an empty folder is fine
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    with pytest.raises(
        ModelError, match=r"expected a new folder or a model to replace, got .*notes.* with other content"
    ):
        build().save(tmp_path / "notes")
    assert os.listdir(tmp_path / "notes") == ["a.txt"]


def test_an_interrupted_save_leaves_the_old_model(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = load_words(saved).fingerprint

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("safetensors.torch.save_file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build(Mlp).save(saved)
    assert load_words(saved).fingerprint == before
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("state", ["model", "empty", "new"])
def test_an_interrupt_while_files_are_moved(
    state: str, at: int, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = {"model": saved, "empty": tmp_path / "empty", "new": tmp_path / "new"}[state]
    if state == "empty":
        folder.mkdir()
    before, listed = load_words(saved).fingerprint, sorted(os.listdir(tmp_path))
    rename, calls = Path.rename, []

    def interrupted(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == at:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    moves = {"model": 2, "empty": 3, "new": 1}[state]
    if at > moves:
        build(Mlp).save(folder)
        assert load_words(folder).kind == "mlp"
        return
    with pytest.raises(KeyboardInterrupt):
        build(Mlp).save(folder)
    assert load_words(saved).fingerprint == before
    assert sorted(os.listdir(tmp_path)) == listed
    assert state != "empty" or not os.listdir(folder)


@pytest.mark.parametrize("name", [".", "../here", "../here/../here"])
def test_the_current_folder(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    build().save(name)
    assert sorted(os.listdir(".")) == ["model.json", "vocabulary.json", "weights.safetensors"]  # not another folder
    build(Mlp).save(name)
    assert load_words(tmp_path / "here").kind == "mlp"
    assert os.listdir(tmp_path) == ["here"]


def test_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(
        ModelError, match=r"expected a new folder or a model to replace, got .*file' with other content"
    ):
        check_target(tmp_path / "file")
    with pytest.raises(ModelError, match=r"expected a folder that can be written, got .*file' above .*model'"):
        check_target(tmp_path / "file" / "deep" / "model")
    with pytest.raises(ModelError, match=r"cannot write to '.*aaa.*': File name too long"):
        check_target(tmp_path / ("a" * 300))
    assert check_target(tmp_path / "new" / "model") == (tmp_path / "new" / "model").resolve()
    assert os.listdir(tmp_path) == ["file"]  # looking changes nothing
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # the one who runs the tests may write everywhere
    with pytest.raises(ModelError, match=r"expected a folder that can be written, got .* above .*model'"):
        check_target(tmp_path / "model")


def edit(folder: Path, **changes: object) -> None:
    record = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps({**record, **changes}))


def test_missing_and_broken_files(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"expected a model folder, got .*nowhere, which does not exist"):
        load_words(tmp_path / "nowhere")
    (saved / "vocabulary.json").write_text('["good"]')
    with pytest.raises(ModelError, match=r"expected strings beginning with <pad>, <unk>, <sep> in .*vocabulary.json"):
        load_words(saved)
    (saved / "vocabulary.json").write_text('["<pad>", "<unk>", "<sep>", "a", "a"]')
    with pytest.raises(
        ModelError, match=r"cannot load .*model: expected distinct words in a vocabulary, got 'a' twice"
    ):
        load_words(saved)
    (saved / "vocabulary.json").write_bytes(b"\xff\xfe")
    with pytest.raises(ModelError, match=r"expected JSON in .*vocabulary.json, got 'utf-8' codec"):
        load_words(saved)
    (saved / "vocabulary.json").unlink()
    with pytest.raises(ModelError, match=r"expected vocabulary.json in .*model, got none"):
        load_words(saved)
    (saved / "model.json").write_text("[]")
    with pytest.raises(ModelError, match=r"expected a JSON dict in .*model.json, got list"):
        load_words(saved)
    (saved / "model.json").write_text("{")
    with pytest.raises(ModelError, match=r"expected JSON in .*model.json, got Expecting"):
        load_words(saved)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 2}, "expected format 1 in .*model.json, got 2"),
        ({"kind": "transformer"}, "expected kind mlp, cnn, lstm, bilstm in .*model.json, got 'transformer'"),
        ({"labels": "pos"}, "expected labels as a list of strings in .*model.json, got 'pos'"),
        ({"labels": ["pos"]}, r"cannot load .*: expected at least 2 distinct labels, got \['pos'\]"),
        ({"labels": ["a", "b", "c"]}, r"expected weight 'last.(bias|weight)' of shape \(3.*\), got \(2"),
        ({"config": {"dim": 3}}, "expected config with dim, dropout, filters, .*, got dim"),
        ({"config": None}, "expected config with dim, .*, got None"),
        ({"training": [1]}, r"expected training as an object in .*model.json, got \[1\]"),
        ({"kind": "lstm"}, "expected config with dim, dropout, max_length, units, got"),
    ],
)
def test_broken_records(saved: Path, changes: dict[str, object], message: str) -> None:
    edit(saved, **changes)
    with pytest.raises(ModelError, match=message) as caught:
        load_words(saved)
    assert "\n" not in str(caught.value)


def test_broken_settings_and_weights(saved: Path) -> None:
    config = json.loads((saved / "model.json").read_text())["config"]
    edit(saved, config={**config, "dim": "wide"})
    with pytest.raises(ModelError, match=r"expected dim to be a whole number of at least 1, got 'wide'"):
        load_words(saved)
    edit(saved, config={**config, "widths": {"3": 1}})
    with pytest.raises(ModelError, match=r"cannot load .*: expected widths of at least 1, got {'3': 1}"):
        load_words(saved)
    edit(saved, config={**config, "dim": 4})
    with pytest.raises(ModelError, match=r"expected weight '.*' of shape .*, got"):
        load_words(saved)
    edit(saved, config=config)
    weights = load_file(saved / "weights.safetensors")
    del weights["last.bias"]
    save_file(weights, saved / "weights.safetensors")
    with pytest.raises(ModelError, match=r"missing or unknown: last.bias"):
        load_words(saved)
    content = (saved / "weights.safetensors").read_bytes()
    (saved / "weights.safetensors").write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelError, match=r"expected safetensors in weights.safetensors, got"):
        load_words(saved)
    (saved / "weights.safetensors").unlink()
    with pytest.raises(ModelError, match=r"expected weights.safetensors, got none"):
        load_words(saved)


def test_pickles_are_refused(saved: Path, tmp_path: Path) -> None:
    torch.save(load_file(saved / "weights.safetensors"), saved / "weights.bin")
    (saved / "weights.bin").rename(saved / "weights.safetensors")  # a pickle under a false name
    with pytest.raises(ModelError, match=r"expected safetensors in weights.safetensors, got"):
        load_words(saved)
    (saved / "weights.safetensors").rename(saved / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"got pytorch_model.bin; a pickle could run code: convert"):
        load_words(saved)
    (tmp_path / "model.pt").write_bytes(b"\x80\x04N.")
    with pytest.raises(ModelError, match=r"expected a model folder .*, got a pickle, which could run code: .*model.pt"):
        load_words(tmp_path / "model.pt")
    (tmp_path / "model.txt").write_text("hello")
    with pytest.raises(ModelError, match=r"expected a model folder .*, got a file: .*model.txt"):
        load_words(tmp_path / "model.txt")
