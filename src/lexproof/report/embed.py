"""Embed: JSON that is safe inside a script element, and the page's own style and script with their hashes."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import Any

from markupsafe import Markup


def json_block(value: Any) -> Markup:
    """The value as ASCII JSON in which no character can end or reopen a script element."""
    # `ensure_ascii` also writes U+2028, U+2029 and lone surrogates as escapes, so the file is valid UTF-8
    written = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Markup(written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def asset(name: str) -> Markup:
    """A style or script of the report, as it stands in the package."""
    return Markup(resources.files("lexproof.report").joinpath("templates", name).read_text("utf-8"))


def source_hash(content: str) -> str:
    """The Content-Security-Policy source expression that allows exactly this inline content."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def policy(css: str, js: str) -> str:
    """A policy under which the page may run its own style and script and fetch nothing at all.

    Trusted types are required and none is defined: a script that tried to parse a string as HTML would be stopped.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src {source_hash(css)}",
            f"script-src {source_hash(js)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )
