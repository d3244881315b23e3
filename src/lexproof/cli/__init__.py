"""The command line: the same verbs as the library, one file a family of verbs.

Exit status: 0 done, 1 a threshold of `--fail-under` was missed or a certificate was refused, 2 bad usage or input (one
line, no traceback), 3 a bug of Lexproof (an answer that its evidence does not bear out), 130 interrupted (everything
finished is kept).
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Any

import click

from lexproof.cli.pipe import reader_may_leave
from lexproof.errors import EvidenceError, LexproofError

_COMMANDS = {
    "audit": "lexproof.cli.audit:audit",
    "find": "lexproof.cli.ask:find",
    "minimize": "lexproof.cli.ask:minimize",
    "prove": "lexproof.cli.ask:prove",
    "count": "lexproof.cli.ask:count",
    "radius": "lexproof.cli.radius:radius",
    "smooth": "lexproof.cli.smooth:smooth",
    "check": "lexproof.cli.check:check_command",
    "edit": "lexproof.cli.edit:edit",
    "explain": "lexproof.cli.explain:explain",
    "words": "lexproof.cli.words:words",
    "train": "lexproof.cli.train:train_command",
    "harden": "lexproof.cli.harden:harden_command",
    "report": "lexproof.cli.report:report",
    "data": "lexproof.cli.data:data",
    "doctor": "lexproof.cli.doctor:doctor",
    "list": "lexproof.cli.listing:listing",
}


class _Verbs(click.Group):
    """Loads a verb's file only when that verb is used: `lexproof --help` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from importlib import import_module

        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        with reader_may_leave():  # here, because click would end the process with status 1, a threshold missed
            return super().invoke(ctx)
        return 0


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="lexproof")
def cli() -> None:
    """How robust is a text classifier when words are swapped?  Find, minimize, prove, count."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and end the process with its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a letter is no reason to stop
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command; errors of use and input become one line on standard error and status 2."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        status = cli.main(args=given, obj=given, standalone_mode=False)
        return status if isinstance(status, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.ClickException as error:
        verb = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "lexproof"
        return _fail(f"{verb}: {error.format_message()}")
    except EvidenceError as error:
        return _fail(f"lexproof: this is a bug, please report it: {error}", status=3)
    except LexproofError as error:
        return _fail(f"lexproof: {error}")
    except (KeyboardInterrupt, click.Abort) as stop:
        # click turns one into the other; whoever was interrupted may have said what is left of its work
        said = (stop.args or getattr(stop.__cause__, "args", ())) or ("everything finished is kept",)
        return _fail(f"lexproof: interrupted; {said[0]}", status=130)
    except OSError as error:
        return _fail(f"lexproof: {_reason(error)}")


def _reason(error: OSError) -> str:
    """Which file cannot be used, and why."""
    if error.filename is None:
        return str(error)
    return f"cannot use {str(error.filename)!r}: {error.strerror}"


def _fail(message: str, status: int = 2) -> int:
    click.echo(" ".join(message.split()), err=True)
    return status
