"""Reading files: every format and compression gives the same rows, and a bad row is told, not fatal."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
from pathlib import Path

import pytest

from lexproof.data import BadRow, Dataset, read
from lexproof.errors import DataError, InputError

ROWS = [
    {"text": "a charming film", "label": 1, "id": "x"},
    {"text": 'he said "dull",\nand left', "label": 0, "id": "y"},
    {"text": "ünï 映画 😀, ok", "label": 1, "id": "z"},
]


def as_csv(rows: list[dict], delimiter: str = ",") -> bytes:
    import io

    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue().encode()


def as_jsonl(rows: list[dict]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_parquet(rows: list[dict]) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    import io

    from pyarrow import parquet

    stream = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), stream)
    return stream.getvalue()


FORMATS = {
    "csv": lambda: as_csv(ROWS),
    "jsonl": lambda: as_jsonl(ROWS),
    "json": lambda: json.dumps(ROWS, indent=1).encode(),
    "parquet": lambda: as_parquet(ROWS),
}
COMPRESSIONS = {"": lambda b: b, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_every_format_gives_the_same_rows(tmp_path, form, compression):
    file = tmp_path / f"data.{form}{compression}"
    file.write_bytes(COMPRESSIONS[compression](FORMATS[form]()))
    found = read(file)
    assert found == Dataset(tuple(row["text"] for row in ROWS), (1, 0, 1), ("0", "1"), file.name)
    assert read(str(file), limit=2).texts == found.texts[:2]


def write(tmp_path: Path, name: str, content: str | bytes) -> Path:
    file = tmp_path / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def test_tsv_quotes(tmp_path):
    content = 'text\tlabel\n"quoted ""film"""\t1\nhe said "no\t0\n"half\t1\n" open" close"\t0\n'
    found = read(write(tmp_path, "d.tsv", content))
    assert found.texts == ('quoted "film"', 'he said "no', '"half', '" open" close"')
    assert found.labels == (1, 0, 1, 0)


def test_a_byte_order_mark_and_line_ends(tmp_path):
    assert read(write(tmp_path, "a.csv", "\ufefftext,label\r\nx,1\r\n\r\ny,0\r\n")).texts == ("x", "y")
    assert read(
        write(tmp_path, "a.jsonl", '\ufeff{"text": "x", "label": 0}\r\n\r\n{"text": "y", "label": 1}')
    ).texts == ("x", "y")


def test_bad_rows_of_jsonl(tmp_path):
    lines = [
        '{"text": "fine", "label": 0}',
        "{broken",
        '{"label": 1}',
        '{"text": 5, "label": 1}',
        '{"text": "a", "label": 7}',
        r'{"text": "\ud800", "label": 1}',
        '{"text": "a", "label": null}',
        '{"text": "a", "label": true}',
        '{"text": "a", "label": 0.5}',
        '"just a string"',
        "[" * 100_000,
        "",
        r'{"text": "also fine\u0000", "label": 1}',
    ]
    found = read(write(tmp_path, "d.jsonl", "\n".join(lines)), labels=["neg", "pos"])
    assert (found.texts, found.labels, found.label_names) == (("fine", "also fine\0"), (0, 1), ("neg", "pos"))
    assert [row.line for row in found.bad_rows] == [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    reasons = [row.reason for row in found.bad_rows]
    assert reasons[0].startswith("not JSON: ")
    assert reasons[1:8] == [
        "no field 'text'",
        "expected 'text' to be a string, got int",
        "label 7 is not one of neg, pos",
        "lone surrogate in 'text' at character 0",
        "no label",
        "expected a label that is an integer or a string, got bool True",
        "expected a label that is an integer or a string, got float 0.5",
    ]
    assert reasons[8] == "expected a JSON object, got str"
    assert reasons[9].startswith("not JSON: ")


def test_bad_rows_of_csv(tmp_path):
    content = 'text,label\nfine,1\nonly one\n"x"y,1\nnul\0,1\n"two\nlines",0\na,b,c\nlast,9\n"never closed,1\nlost,0\n'
    found = read(write(tmp_path, "d.csv", content), labels=["neg", "pos"])
    assert (found.texts, found.labels) == (("fine", "nul\0", "two\nlines"), (1, 1, 0))
    assert found.bad_rows == (
        BadRow(3, "expected 2 fields, got 1"),
        BadRow(4, "not CSV: ',' expected after '\"'"),
        BadRow(8, "expected 2 fields, got 3"),
        BadRow(9, "label '9' is not one of neg, pos"),
        BadRow(10, "a quotation mark opened here is never closed; the rows after it were not read"),
    )


def test_bad_rows_of_json_and_parquet(tmp_path):
    found = read(write(tmp_path, "d.json", '[3, {"text": "a", "label": 1}, {"text": null, "label": 1}]'))
    assert found.texts == ("a",)
    assert found.bad_rows == (
        BadRow(1, "expected an object, got int"),
        BadRow(3, "expected 'text' to be a string, got NoneType"),
    )
    rows = [{"text": "a", "label": 1.0}, {"text": None, "label": 0.0}, {"text": "b", "label": None}]
    found = read(write(tmp_path, "d.parquet", as_parquet(rows)))
    assert (found.texts, found.labels) == (("a",), (1,))
    assert [row.line for row in found.bad_rows] == [2, 3]


def test_other_columns_and_pairs(tmp_path):
    file = write(tmp_path, "d.csv", "sentence,gold,context\nx,b,p\ny,a,q\n")
    found = read(file, text="sentence", label="gold")
    assert (found.texts, found.labels, found.label_names) == (("x", "y"), (1, 0), ("a", "b"))
    assert read(file, text="sentence", label="gold", premise="context").texts == (("p", "x"), ("q", "y"))
    pairs = write(tmp_path, "p.jsonl", '{"premise": "p", "hypothesis": "h", "label": 2}')
    assert read(pairs).texts == (("p", "h"),)
    assert read(write(tmp_path, "p.csv", "hypothesis,premise,label\nh,p,0\n")).texts == (("p", "h"),)


def test_files_without_labels(tmp_path):
    file = write(tmp_path, "d.csv", "text\nx\ny\n")
    found = read(file, require_labels=False, labels=["n", "p"])
    assert (found.texts, found.labels, found.label_names) == (("x", "y"), None, ("n", "p"))
    assert read(write(tmp_path, "d.jsonl", '{"text": "x"}\n'), require_labels=False).labels is None
    assert read(write(tmp_path, "e.csv", "text,label\nx,1\n"), require_labels=False).labels == (1,)
    with pytest.raises(DataError, match=r"expected a column 'label' in '.*d.csv', got text; say which with label=..."):
        read(file)


def test_limit_stops_reading(tmp_path):
    file = write(tmp_path, "d.jsonl", b'{"text": "a", "label": 0}\nnonsense\n{"text": "b", "label": 1}\n\xff\xff\n')
    found = read(file, limit=2)
    assert found.texts == ("a", "b") and [row.line for row in found.bad_rows] == [2]
    with pytest.raises(DataError, match="line 4"):
        read(file)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "d.csv",
            "sentence,label\nx,1\n",
            r"expected a column 'text' in '.*d.csv', got sentence, label; say which with text=",
        ),
        (
            "d.jsonl",
            '{"a": "x"}\n{"b": 1}\n',
            r"expected a column 'text' in '.*d.jsonl', got a, b; say which with text=",
        ),
        ("d.jsonl", "", r"expected rows in '.*d.jsonl', got an empty set"),
        ("d.csv", "", r"expected a header and rows in '.*d.csv', got an empty file"),
        ("d.csv", "text,label\n", r"expected rows in '.*d.csv', got an empty set"),
        ("d.json", "[]", r"expected rows in '.*d.json', got an empty set"),
        ("d.json", "{}", r"expected a JSON list of objects in '.*d.json', got dict"),
        ("d.json", "[1,", r"expected JSON in '.*d.json', got"),
        ("d.csv", "text,text\nx,y\n", r"expected distinct columns in '.*d.csv', got text, text"),
        ("d.csv", '"te"xt,label\n', r"expected a header in '.*d.csv', got"),
        (
            "d.csv",
            b"text,label\nx,1\ncaf\xe9,1\n",
            r"expected UTF-8 in '.*d.csv', got 0xe9 at byte 18 \(line 3\); convert",
        ),
        ("d.jsonl", "x\ny\n", r"expected rows that can be used in '.*', got 2 bad ones; the first, line 1: not JSON"),
        ("d.jsonl.gz", b"not gzip", r"cannot read '.*d.jsonl.gz' after line 0: Not a gzipped file"),
        ("d.csv.xz", lzma.compress(b"text,label\nx,1\n" * 9999)[:60], r"cannot read '.*d.csv.xz' after line"),
        ("d.parquet", b"PAR1 nonsense", r"expected a parquet file at '.*d.parquet', got"),
        ("d.xlsx", b"PK", r"expected a file ending in .csv, .tsv, .jsonl, .json, .parquet, or .* got 'd.xlsx'"),
        ("data", b"", r"expected a file ending in .csv, .* got 'data'"),
    ],
)
def test_files_that_cannot_be_used(tmp_path, name, content, message):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    with pytest.raises(DataError, match=message) as caught:
        read(write(tmp_path, name, content))
    assert "\n" not in str(caught.value)


def test_limits_are_checked(tmp_path):
    with pytest.raises(InputError, match="expected limit >= 1, got 0"):
        read(write(tmp_path, "d.csv", "text,label\nx,1\n"), limit=0)


def test_the_fingerprint_knows_texts_and_labels(tmp_path):
    one = read(write(tmp_path, "a.csv", "text,label\nx,1\n"))
    assert one.fingerprint == read(write(tmp_path, "b.csv", "label,text\n1,x\n")).fingerprint
    assert one.fingerprint != read(write(tmp_path, "c.csv", "text,label\nx,0\n")).fingerprint
    assert len(one) == 1


def test_one_row_without_a_label_does_not_discard_the_others(tmp_path):
    lines = '{"text": "a"}\n{"text": "b", "label": 1}\n{"text": "c", "label": 0}\n'
    file = write(tmp_path, "d.jsonl", lines)
    for limit, texts, labels in ((None, ("b", "c"), (1, 0)), (1, ("b",), (1,))):
        found = read(file, require_labels=False, labels=["n", "p"], limit=limit)
        assert (found.texts, found.labels) == (texts, labels)
        assert found.bad_rows == (BadRow(1, "no field 'label'"),)
    rows = write(tmp_path, "d.json", '[{"text": "a"}, 3, {"text": "b", "label": 1}]')
    assert read(rows, require_labels=False).labels == (1,)
    none = read(write(tmp_path, "e.jsonl", '{"text": "a"}\nbroken\n{"text": "b"}\n'), require_labels=False)
    assert (none.texts, none.labels, [row.line for row in none.bad_rows]) == (("a", "b"), None, [2])


@pytest.mark.parametrize(("name", "between", "quote"), [("d.csv", ",", '"'), ("d.tsv", "\t", "")])
def test_fields_may_be_of_any_length(tmp_path, name, between, quote):
    before = csv.field_size_limit()
    long = " ".join(["word"] * 100_000)
    found = read(write(tmp_path, name, f"text{between}label\n{quote}{long}{quote}{between}1\nb{between}0\n"))
    assert (found.texts, found.labels, found.bad_rows) == ((long, "b"), (1, 0), ())
    assert csv.field_size_limit() == before


def test_a_long_quoted_field_invents_no_rows(tmp_path):
    before = csv.field_size_limit()
    inner = "x" * 140_000 + "\nfake row one,0\nfake row two,1\nend"
    found = read(write(tmp_path, "d.csv", f'text,label\ngood,1\n"{inner}",1\nlast,0\n'))
    assert (found.texts, found.labels, found.bad_rows) == (("good", inner, "last"), (1, 1, 0), ())
    rows = "".join(f"row number {i} of the file,1\n" for i in range(20_000))
    found = read(write(tmp_path, "e.csv", f'text,label\ngood,1\n"stray quote,0\n{rows}'))
    assert found.texts == ("good",)
    assert found.bad_rows == (
        BadRow(3, "a quotation mark opened here is never closed; the rows after it were not read"),
    )
    with pytest.raises(DataError, match="expected UTF-8"):
        read(write(tmp_path, "f.csv", b"text,label\nx,1\n\xff,1\n"))
    assert csv.field_size_limit() == before


def test_labels_of_very_many_digits(tmp_path):
    file = write(tmp_path, "d.csv", f"text,label\na,1\nb,{'9' * 5000}\n")
    found = read(file, labels=["n", "p"])
    assert found.texts == ("a",) and len(found.bad_rows) == 1
    assert found.bad_rows[0].reason.startswith("label '999") and len(found.bad_rows[0].reason) < 200
    assert read(file).label_names == ("1", "9" * 5000)


def test_parquet_files_that_are_damaged_inside(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    broken = arrow.Array.from_buffers(
        arrow.string(),
        2,
        [None, arrow.py_buffer(bytes([0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0])), arrow.py_buffer(b"a\xff\xfe")],
    )
    parquet.write_table(arrow.table({"text": broken, "label": [0, 1]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"cannot read '.*a.parquet' after row 0: .*utf-8") as caught:
        read(tmp_path / "a.parquet")
    assert "\n" not in str(caught.value)
    table = arrow.table({"text": [f"text number {i}" for i in range(4000)], "label": [0, 1] * 2000})
    parquet.write_table(table, tmp_path / "b.parquet", row_group_size=500, compression="snappy", use_dictionary=False)
    content = bytearray((tmp_path / "b.parquet").read_bytes())
    middle = len(content) // 2
    content[middle : middle + 3000] = b"\xff" * 3000
    (tmp_path / "b.parquet").write_bytes(content)
    with pytest.raises(DataError, match=r"cannot read '.*b.parquet' after row \d+: ") as caught:
        read(tmp_path / "b.parquet")
    assert "\n" not in str(caught.value)


def test_columns_of_a_parquet_file_that_are_not_asked_for_do_no_harm(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    when = arrow.array([2**62], arrow.timestamp("us"))
    parquet.write_table(arrow.table({"text": ["a"], "label": [1], "when": when}), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet").texts == ("a",)
    with pytest.raises(DataError, match=r"cannot read '.*a.parquet' after row 0: "):
        read(tmp_path / "a.parquet", label="when")
    twice = arrow.table([arrow.array(["a"]), arrow.array(["b"]), arrow.array([1])], names=["text", "text", "label"])
    parquet.write_table(twice, tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"expected distinct columns in '.*b.parquet', got text, text, label"):
        read(tmp_path / "b.parquet")
