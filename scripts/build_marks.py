"""Build src/lexproof/marks.py: the combining marks of Unicode as ranges for a regular expression.

    python scripts/build_marks.py

A fixed list makes texts split the same way on every version of Python, and saves scanning the database at run time.
"""

import sys
import unicodedata
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "src" / "lexproof" / "marks.py"


def ranges() -> list[tuple[int, int]]:
    """First and last code point of each run of marks."""
    found: list[tuple[int, int]] = []
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code))[0] == "M":
            if found and found[-1][1] == code - 1:
                found[-1] = (found[-1][0], code)
            else:
                found.append((code, code))
    return found


def main() -> None:
    """Write the module."""
    codes = " ".join(f"{low:x}" if low == high else f"{low:x}-{high:x}" for low, high in ranges())
    lines, line = [], ""
    for code in codes.split():
        if len(line) + len(code) > 100:
            lines.append(line)
            line = ""
        line += code + " "
    body = "\n".join(f'    "{line}"' for line in [*lines, line.rstrip()])
    TARGET.write_text(
        f'"""Combining marks of Unicode {unicodedata.unidata_version}; made by scripts/build_marks.py."""\n\n'
        f"RANGES = (\n{body}\n)\n"
        '"""Code points in hexadecimal, single or first-last, separated by spaces."""\n',
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
