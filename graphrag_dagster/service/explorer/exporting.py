"""The explorer of one corpus as one file: the same page, with the answers of the server inside."""

import base64
import errno
import gzip
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from string import Template
from tempfile import TemporaryFile
from typing import Any

from anyio.from_thread import start_blocking_portal

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.storage.durable import write_durably
from graphrag_dagster.service.explorer.gathering import gathered
from graphrag_dagster.service.explorer.page import hash_source, page_parts

#: Characters of base64 for each byte of what is packed.
_BASE64 = 4 / 3
# What a policy inside of a page may say: who may frame it is told by servers alone.
_POLICY = (
    "default-src 'none'; script-src {scripts}; style-src {styles}; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)


class ExportError(GraphragError):
    """The file cannot be written as it was asked for."""


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file that was written, its size in bytes, and what is in it, in a sentence or two."""

    file: Path
    bytes: int
    told: str


def export_page(corpus: str, file: Path, most_bytes: int) -> PageFile:
    """Write the explorer of a corpus as one file, which needs no server and asks none.

    Where it would grow too large, parts are left out, and the page says which: see :mod:`.gathering`.

    Args:
        corpus: its name.
        file: what is written; one that is there is replaced.
        most_bytes: its largest size.

    Raises:
        ExportError: it cannot be written there, or not even the map fits into so few bytes.
        GraphragError: there is no such corpus, or nothing of it is published.
    """
    with _named(file):
        _try_place(file)
    room = int((most_bytes - len(_page("", "").encode())) / _BASE64)
    # Who calls it may be in an event loop of its own, such as a notebook.
    with start_blocking_portal() as loop:
        held = loop.call(gathered, corpus, room)
    page = _page(_packed(held.answers), held.told).encode()
    if len(page) > most_bytes:
        raise ExportError(
            f"the map of {corpus} alone makes {len(page) / 1e6:.1f} MB; give a larger limit: --max-mb"
        )
    with _named(file):
        write_durably(file, page.decode())
    return PageFile(file, len(page), held.told)


def _try_place(file: Path) -> None:
    """Find out before all is gathered whether a file can be made there."""
    if file.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    with TemporaryFile(dir=file.parent):
        pass


@contextmanager
def _named(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ExportError(
            f"{file} cannot be written: {error.strerror or error}; name another file"
        ) from error


def _packed(answers: dict[str, Any]) -> str:
    text = json.dumps(answers, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    # Without the time of day in its head, so that the same corpus makes the same file.
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _page(packed: str, told: str) -> str:
    """Return the page with everything inside; it runs these very scripts and no other."""
    parts = page_parts()
    scripts = (parts.vendored, parts.script)
    allowed = _POLICY.format(scripts=" ".join(map(hash_source, scripts)), styles=hash_source(parts.style))
    return Template(parts.markup).substitute(
        policy=f'<meta http-equiv="Content-Security-Policy" content="{allowed}">',
        style=f"<style>{parts.style}</style>",
        data=f'<script type="application/json" id="data">{_in_json(packed, told)}</script>',
        script="".join(f"<script>{_closed(script)}</script>" for script in scripts),
    )


def _in_json(packed: str, told: str) -> str:
    """What a script element can hold, whatever the name of the corpus."""
    return json.dumps({"told": told, "packed": packed}).replace("<", "\\u003c")


def _closed(script: str) -> str:
    """The script, which must not end its element before its end.

    Raises:
        ExportError: it would.
    """
    if "</script" in script.lower() or "<!--" in script:
        raise ExportError("a script of the page holds </script or <!--, which would end it: write it apart")
    return script
