"""``graphrag-dagster explore``."""

import os
import sys
import webbrowser
from pathlib import Path
from urllib.parse import quote

import typer
from rich.markup import escape

from graphrag_dagster.apps.explorer.explorer import Explorer
from graphrag_dagster.cli.console import OUT
from graphrag_dagster.errors import SettingsError
from graphrag_dagster.service.explorer.page_export import export_page
from graphrag_dagster.service.http_server import run
from graphrag_dagster.service.settings import ServiceSettings, token_from_environment

_DEFAULT_PORT = 8000


def explore_corpus(name: str, port: int | None, *, opens: bool) -> int | None:
    """Serve the explorer of a corpus, and open it in a browser where there is one.

    Returns:
        the number of the signal that ended it.

    Raises:
        GraphragError: there is no such corpus, nothing of it is published, or the address cannot be used.
    """
    Explorer(name).overview()

    def announce(url: str) -> None:
        address = f"{url}/#/{quote(name, safe='')}"
        typer.echo(address)
        if opens and _can_open_window():
            webbrowser.open(address)

    token = token_from_environment()
    try:
        return run(ServiceSettings(port=_DEFAULT_PORT if port is None else port, token=token), announce)
    except SettingsError:
        if port is not None:
            raise
        return run(ServiceSettings(port=0, token=token), announce)


def export_explorer(name: str, file: Path, megabytes: float) -> None:
    """Write the explorer of a corpus as one file that needs no server, and print what is in it.

    Raises:
        GraphragError: there is no such corpus, nothing of it is published, or the file cannot be written.
    """
    made = export_page(name, file, round(megabytes * 1e6))
    OUT.say(escape(made.told))
    OUT.say(f"{escape(str(made.file))}: {made.bytes / 1e6:,.1f} MB")


def _can_open_window() -> bool:
    """Whether a browser would come up in a window, not in this terminal."""
    if sys.platform in {"win32", "darwin"}:
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
