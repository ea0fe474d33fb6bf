"""What people type. Heavy imports happen inside the commands, so that ``--help`` answers at once."""

import atexit
import gc
import io
import sys

import typer

from graphrag_dagster.cli.app import app
from graphrag_dagster.cli.console import print_error
from graphrag_dagster.core.errors import GraphragError


def main() -> None:
    """Run the command line; an error that is the user's to mend ends it with one line and its exit code."""
    # Nearly all that a run makes lives until its end: collecting it often, or at the exit, gives nothing.
    gc.set_threshold(50_000, 20, 50)
    atexit.register(gc.freeze)
    # Where the terminal has no sign for a character, it is spelt out.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        sys.exit(app(standalone_mode=False))
    except GraphragError as error:
        print_error(str(error))
        sys.exit(error.exit_code)
    except typer.TyperException as error:
        _tell_misuse(error)
        sys.exit(error.exit_code)
    except typer.Abort:
        print_error("stopped; nothing was done")
        sys.exit(1)


def _tell_misuse(error: typer.TyperException) -> None:
    # Where only help was asked for, it has been printed and there is no more to tell.
    if told := error.format_message().rstrip("."):
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "graphrag-dagster"
        print_error(f"{told}; see: {command} --help")
