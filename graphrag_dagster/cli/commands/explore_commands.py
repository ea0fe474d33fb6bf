"""``graphrag-dagster explore``."""

import os
import sys
import webbrowser
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from graphrag_dagster.apps.explorer.explorer import Explorer
from graphrag_dagster.cli.options import Name
from graphrag_dagster.cli.result import say
from graphrag_dagster.errors import SettingsError
from graphrag_dagster.service.explorer.page_export import export_page
from graphrag_dagster.service.http_server import run
from graphrag_dagster.service.settings import ServiceSettings, token_from_environment

_DEFAULT_PORT = 8000


def explore(
    name: Name,
    export: Annotated[
        Path | None,
        typer.Option(help="Write the page with the corpus in it to this file instead of serving it."),
    ] = None,
    max_mb: Annotated[
        float, typer.Option("--max-mb", min=1, help="Maximum file size; the rest is left out and reported.")
    ] = 5.0,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port; default: 8000, or another that is free.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open it in a browser, where there is one.")] = True,
) -> int:
    """Serve the explorer of a corpus, or write it as one file that needs no server.

    Returns:
        the exit code; over 128 that of the signal that ended it.

    Raises:
        GraphragError: there is no such corpus, nothing of it is published, the address cannot be used, or the
            file cannot be written.
    """
    if export:
        made = export_page(name, export, round(max_mb * 1e6))
        say(made.told)
        say(f"{made.file}: {made.bytes / 1e6:,.1f} MB")
        return 0
    Explorer(name).overview()

    def announce(url: str) -> None:
        address = f"{url}/#/{quote(name, safe='')}"
        typer.echo(address)
        if browser and _can_open_window():
            webbrowser.open(address)

    token = token_from_environment()
    try:
        ended = run(ServiceSettings(port=_DEFAULT_PORT if port is None else port, token=token), announce)
    except SettingsError:
        if port is not None:
            raise
        ended = run(ServiceSettings(port=0, token=token), announce)
    return 128 + ended if ended else 0


def _can_open_window() -> bool:
    """Whether a browser would come up in a window, not in this terminal."""
    if sys.platform in {"win32", "darwin"}:
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
