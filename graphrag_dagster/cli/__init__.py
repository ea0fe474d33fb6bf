"""The command line. Heavy imports happen inside the commands, so that ``--help`` is fast."""

import atexit
import gc
import io
import logging
import sys
from typing import TYPE_CHECKING

from graphrag_dagster.cli.signals import STOPPED, Stop
from graphrag_dagster.kernel.pipeline.garbage_collection import (
    defer_collection,
    share_malloc_arena,
)

if TYPE_CHECKING:
    import typer


def main() -> None:
    """Run the command line; an error the user can fix ends it with one line and its exit code.

    Ctrl-C and SIGTERM end it with one line and 130 or 143.
    """
    stop = Stop()
    with stop.listening():
        try:
            code = _run()
        except BaseException as error:
            if stop.requested:
                stop.end()
            code = _report_error(error)
        if stop.requested or code in STOPPED:
            stop.end(code)
    sys.exit(code)


def _run() -> int:
    share_malloc_arena()
    # Nearly all that is made lives until the end: collecting it often, or at the exit, gives nothing.
    defer_collection()
    atexit.register(gc.freeze)
    # Loaded while signals are listened to: it takes long enough for a Ctrl-C.
    from graphrag_dagster.cli.app import app

    # While a package that is being loaded has set up the root logger, requests of other threads are no news.
    for client in ("httpx", "httpx2", "openai"):
        logging.getLogger(client).setLevel(logging.WARNING)
    # Where the terminal has no sign for a character, it is spelt out.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    return app(standalone_mode=False) or 0


def _report_error(error: BaseException) -> int:
    """Print an error the user can fix and return its exit code; re-raise any other."""
    import typer

    from graphrag_dagster.cli.console import print_error
    from graphrag_dagster.errors import GraphragError
    from graphrag_dagster.kernel.common.printable import os_error_message

    match error:
        case GraphragError():
            print_error(str(error), error.page)
            return error.exit_code
        case typer.TyperException():
            _report_misuse(error)
            return int(error.exit_code)
        case typer.Abort():
            print_error("stopped; nothing was done")
            return 1
        case OSError():
            print_error(os_error_message(error))
            return 1
        case _:
            raise error


def _report_misuse(error: "typer.TyperException") -> None:
    from graphrag_dagster.cli.console import print_error

    # Where only help was asked for, it has been printed and there is no more to tell.
    if text := error.format_message().rstrip("."):
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "graphrag-dagster"
        print_error(f"{text}; see: {command} --help")
