"""A real browser on the explorer of a real server."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.homes import VARIABLES

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = "GRAPHRAG_DAGSTER_CHROMIUM"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Software draws WebGL where there is no graphics card; containers let no sandbox be made.
_FLAGS = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


@contextmanager
def launched_browser() -> Iterator["Browser"]:
    """Start Chromium; skips where there is none."""
    place = os.environ.get(CHROMIUM) or next(filter(None, map(shutil.which, _NAMES)), None)
    if place is None:
        pytest.skip(f"no Chromium found: install it, or name its file in {CHROMIUM}")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=place, args=list(_FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def served_home(home: Path, more: Mapping[str, str] = {}, arguments: Sequence[str] = ()) -> Iterator[str]:
    """Serve the corpora of a home in a process of its own; gives the URL.

    Args:
        home: with indexed corpora.
        more: variables of the environment.
        arguments: of the command, beside the port.
    """
    inherited = {key: value for key, value in os.environ.items() if key not in VARIABLES}
    with subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from graphrag_dagster.cli import main; main()",
            "serve",
            "--port",
            "0",
            *arguments,
        ],
        cwd=home,
        env={**inherited, "GRAPHRAG_DAGSTER_HOME": str(home), "PYTHONUNBUFFERED": "1", **more},
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stdout
            url = server.stdout.readline().strip()
            assert url.startswith("http://"), "the server did not start"
            yield url
        finally:
            server.terminate()


@contextmanager
def watched_page(browser: "Browser", url: str, **options: Any) -> Iterator["Page"]:
    """Open a page of the explorer, which may neither fail in silence nor call another host.

    Args:
        browser: where it is opened.
        url: of the server, or of a file.
        options: of the browser's context, such as ``color_scheme`` or ``viewport``.
    """
    options.setdefault("viewport", {"width": 1280, "height": 800})
    context = browser.new_context(**options)
    page = context.new_page()
    page.set_default_timeout(15_000)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("console", lambda said: wrong.append(f"console: {said.text}") if said.type == "error" else None)
    page.on(
        "request",
        lambda asked: wrong.append(f"request: {asked.url}") if not _at_home(asked.url, url) else None,
    )
    page.goto(url)
    try:
        yield page
        # What a refusal of the server leaves in the console is no fault of the page.
        assert [one for one in wrong if "Failed to load resource" not in one] == []
    finally:
        context.close()


def go_to(page: "Page", address: str) -> None:
    """Open an address below ``#/`` of the page that is open, and wait until it is shown."""
    page.wait_for_selector("#main[data-shown]")
    page.evaluate("document.getElementById('main').removeAttribute('data-shown')")
    page.goto(f"{page.url.partition('#')[0]}#/{address}")
    page.wait_for_selector("#main[data-shown]")


def _at_home(asked: str, url: str) -> bool:
    return asked.startswith((url.partition("#")[0], "data:", "blob:"))
