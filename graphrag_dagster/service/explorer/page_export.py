"""The explorer of one corpus as one file: the page with the server's responses inside."""

import asyncio
import base64
import errno
import gzip
import json
import os
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from string import Template
from tempfile import TemporaryFile
from typing import Any
from urllib.parse import quote, urlencode

import httpx2
from anyio.from_thread import start_blocking_portal

from graphrag_dagster.errors import GraphragError, QuestionError
from graphrag_dagster.kernel.common.atomic_files import write_durably
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.service.explorer.page_bundle import hash_source, page_parts
from graphrag_dagster.service.http_app import make_app
from graphrag_dagster.service.settings import ServiceSettings

_BASE = "http://127.0.0.1"
#: Items, each of a few addresses, that are asked for at a time.
_AT_ONCE = 4
_ROWS_AT_ONCE = 1_000
_CHARACTERS_AT_ONCE = 50_000
# What `encodeURIComponent` leaves as it is, beside letters, digits and what is always left.
_LEFT_ALONE = "!*'()"
#: How much of the room may be taken once each sort is in, and what one and several of it are called.
_SORTS = {
    "levels": (0.3, "level", "levels"),
    "communities": (0.5, "community", "communities"),
    "insides": (0.6, "graph inside a community", "graphs inside a community"),
    "entities": (0.8, "entity, the most connected", "entities, the most connected"),
    "documents": (0.95, "document", "documents"),
    "tables": (1.0, "table", "tables"),
}

Query = Mapping[str, str | int]
#: An address below the corpus: its parts, and its query.
Asked = tuple[tuple[str, ...], Query]


@dataclass(frozen=True, slots=True)
class CollectedResponses:
    """Answers by address, and what a person is told of them."""

    answers: dict[str, Any]
    told: str


async def collect_responses(corpus: str, room: int) -> CollectedResponses:
    """Ask the server, in this process, for what its page shows of a corpus.

    The map and the graph of each level come first, then communities from the top level on, the graphs inside
    them, the most connected entities, documents in order, and tables, the smallest first; of each as much as
    its share of the room holds.

    Args:
        corpus: its name.
        room: bytes that all may take when they are packed.

    Raises:
        GraphragError: there is no such corpus, or nothing of it is published.
    """
    transport = httpx2.ASGITransport(make_app(ServiceSettings()))
    async with httpx2.AsyncClient(transport=transport, base_url=_BASE) as client:
        file = _ExportFile(corpus, client, room)
        await file.gather()
    return CollectedResponses(file.answers, file.told())


def address(corpus: str, parts: Sequence[str], query: Query) -> str:
    """Return an address as the page writes it: the query sorted, its values encoded as forms are."""
    path = "".join(f"/{quote(part, safe=_LEFT_ALONE)}" for part in ("corpora", corpus, *parts))
    return f"{path}?{urlencode(sorted(query.items()))}" if query else path


@dataclass(slots=True)
class _ExportFile:
    """What goes into the file so far.

    Attributes:
        corpus: its name.
        client: of the server.
        room: bytes that answers may take, packed.
        answers: by address.
        used: bytes that they take, each packed by itself; together they take less.
        counts: how many of each sort are in, and how many there are.
    """

    corpus: str
    client: httpx2.AsyncClient
    room: int
    answers: dict[str, Any] = field(default_factory=dict)
    used: int = 0
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)

    async def gather(self) -> None:
        """Ask for everything there is room for."""
        overview = await self._take((("overview",), {}))
        entry = {"name": self.corpus, "version": overview["version"]}
        self._put("/corpora", {"corpora": [entry], "unindexed": []})
        for needed in (*_map_of({}), (("snapshots",), {})):
            await self._take(needed)
        levels = [one["level"] for one in overview["levels"]]
        await self._fill("levels", [[*_map_of({"level": level})] for level in levels])
        communities = await self._rows("communities", "level", ("community_id", "level"))
        taken = await self._fill("communities", [_community(one) for one, _ in communities])
        insides = [_inside(one, [k for k in levels if k > level]) for one, level in communities[:taken]]
        await self._fill("insides", insides)
        entities = await self._rows("entities", "degree", ("entity_id",), descending=True)
        await self._fill(
            "entities", [[(("entities", one), {}), (("why", "entity", one), {})] for (one,) in entities]
        )
        documents = await self._rows("documents", None, ("document_id",))
        await self._fill("documents", [_document(one) for (one,) in documents])
        tables = sorted(await self._ask((("tables",), {})), key=itemgetter("rows"))
        await self._fill("tables", [[(("tables", one["name"]), {})] for one in tables])
        held = {one["name"] for one in tables if self._has("tables", one["name"])}
        self._put(address(self.corpus, ("tables",), {}), [one for one in tables if one["name"] in held])

    def told(self) -> str:
        """Say what is in the file."""
        lacking = {sort: pair for sort, pair in self.counts.items() if pair[0] < pair[1]}
        if not lacking:
            return f"A complete offline view of {self.corpus}; asking questions needs a server."
        left = "; ".join(f"{has:,} of {plural(of, *_SORTS[sort][1:])}" for sort, (has, of) in lacking.items())
        return f"A partial offline view of {self.corpus}; to keep the file small it has only {left}."

    async def _fill(self, sort: str, items: Sequence[Sequence[Asked]]) -> int:
        """Take items, each whole or not at all, until the share of their sort is full; return how many."""
        most = self.room * _SORTS[sort][0]
        taken, is_room = 0, True
        for begin in range(0, len(items), _AT_ONCE):
            some = items[begin : begin + _AT_ONCE]
            answered = await asyncio.gather(*(self._answers(item) for item in some))
            for found in answered:
                is_room = is_room and self.used + sum(map(_packed_size, found.values())) <= most
                if is_room:
                    taken += 1
                    for place, answer in found.items():
                        self._put(place, answer)
            if not is_room:
                break
        self.counts[sort] = (taken, len(items))
        return taken

    async def _answers(self, item: Sequence[Asked]) -> dict[str, Any]:
        return {address(self.corpus, *one): await self._ask(one) for one in item}

    async def _take(self, asked: Asked) -> Any:
        answer = await self._ask(asked)
        self._put(address(self.corpus, *asked), answer)
        return answer

    def _put(self, place: str, answer: Any) -> None:
        self.answers[place] = answer
        self.used += _packed_size(answer)

    def _has(self, *parts: str) -> bool:
        return address(self.corpus, parts, {}) in self.answers

    async def _ask(self, asked: Asked) -> Any:
        """Ask for all of something: of a table every row, of a text every character."""
        parts, _ = asked
        if parts[0] == "tables" and len(parts) > 1:
            return await self._whole_table(parts[1])
        if parts[-1] == "text":
            return await self._whole_text(parts)
        return await self._get(*asked)

    async def _get(self, parts: tuple[str, ...], query: Query) -> Any:
        response = await self.client.get(address(self.corpus, parts, query))
        answer = response.json()
        if response.status_code != 200:
            raise QuestionError(answer["error"]["message"])
        return answer

    async def _pages(self, name: str, order: Query) -> AsyncIterator[dict[str, Any]]:
        offset = 0
        while True:
            query = {**order, "limit": _ROWS_AT_ONCE, "offset": offset}
            page = await self._get(("tables", name), query)
            yield page
            offset += len(page["rows"])
            if not page["rows"] or offset >= page["matching"]:
                return

    async def _whole_table(self, name: str) -> dict[str, Any]:
        pages = [page async for page in self._pages(name, {})]
        return {**pages[0], "rows": [row for page in pages for row in page["rows"]]}

    async def _rows(
        self, name: str, sort: str | None, columns: Sequence[str], *, descending: bool = False
    ) -> list[tuple[Any, ...]]:
        """Values of some columns of a table, in an order."""
        order: Query = {"sort": sort, "descending": str(descending).lower()} if sort else {}
        found = []
        async for page in self._pages(name, order):
            names = [column["name"] for column in page["columns"]]
            places = [names.index(column) for column in columns]
            found += [tuple(row[place] for place in places) for row in page["rows"]]
        return found

    async def _whole_text(self, parts: tuple[str, ...]) -> dict[str, Any]:
        """The text of a document in one piece, which the server gives in windows with lists of their own."""
        parts_of: list[dict[str, Any]] = []
        entities: dict[str, dict[str, Any]] = {}
        claims: dict[str, dict[str, Any]] = {}
        end, characters = 0, 1
        while end < characters:
            window = await self._get(parts, {"start": end, "end": end + _CHARACTERS_AT_ONCE})
            lists = (("entities", "entity_id", entities), ("claims", "claim_id", claims))
            places = {}
            for kind, key, known in lists:
                for one in window[kind]:
                    known.setdefault(one[key], one)
                order = list(known)
                places[kind] = [order.index(one[key]) for one in window[kind]]
            for part in window["parts"]:
                part |= {kind: [places[kind][place] for place in part[kind]] for kind in places}
                parts_of.append(part)
            end, characters = window["end"], window["characters"]
        whole = {"start": 0, "end": characters, "characters": characters, "parts": parts_of}
        return {**whole, "entities": list(entities.values()), "claims": list(claims.values())}


def _map_of(query: Query) -> list[Asked]:
    """The map by members and by tokens, and the graph."""
    return [
        (("communities",), query),
        (("communities",), {**query, "measure": "tokens"}),
        (("drawn",), query),
    ]


def _community(identity: str) -> list[Asked]:
    return [
        (("communities", identity), {}),
        (("why", "report", identity), {}),
        (("communities",), {"within": identity}),
    ]


def _inside(identity: str, deeper: Sequence[int]) -> list[Asked]:
    """The rest of what is shown inside a community, at its own level and at deeper ones."""
    inside = {"within": identity}
    finer = [asked for level in deeper for asked in _map_of({**inside, "level": level})]
    return [*_map_of(inside)[1:], *finer]


def _document(identity: str) -> list[Asked]:
    return [(("documents", identity, *more), {}) for more in ((), ("text",), ("impact",))]


def _packed_size(answer: Any) -> int:
    # Keys that every answer has are packed once in the file.
    return len(zlib.compress(str(answer).encode(), 6))


#: Characters of base64 for each byte of what is packed.
_BASE64 = 4 / 3
# What a policy inside of a page may say: who may frame it is told by servers alone.
_POLICY = (
    "default-src 'none'; script-src {scripts}; style-src {styles}; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)


class PageExportError(GraphragError):
    """The file cannot be written as it was asked for."""


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file that was written, its size in bytes, and what is in it, in a sentence or two."""

    file: Path
    bytes: int
    told: str


def export_page(corpus: str, file: Path, most_bytes: int) -> PageFile:
    """Write the explorer of a corpus as one file, which needs no server and asks none.

    Where it would grow too large, parts are left out, and the page says which: see :func:`collect_responses`.

    Args:
        corpus: its name.
        file: what is written; one that is there is replaced.
        most_bytes: its largest size.

    Raises:
        ExportError: it cannot be written there, or not even the map fits into so few bytes.
        GraphragError: there is no such corpus, or nothing of it is published.
    """
    with _named_errors(file):
        _check_destination(file)
    room = int((most_bytes - len(_page("", "").encode())) / _BASE64)
    # Who calls it may be in an event loop of its own, such as a notebook.
    with start_blocking_portal() as loop:
        held = loop.call(collect_responses, corpus, room)
    page = _page(_pack(held.answers), held.told).encode()
    if len(page) > most_bytes:
        raise PageExportError(
            f"the map of {corpus} alone takes {len(page) / 1e6:.1f} MB; raise the limit with --max-mb"
        )
    with _named_errors(file):
        write_durably(file, page.decode())
    return PageFile(file, len(page), held.told)


def _check_destination(file: Path) -> None:
    """Find out before all is gathered whether a file can be made there."""
    if file.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    with TemporaryFile(dir=file.parent):
        pass


@contextmanager
def _named_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise PageExportError(
            f"{file} cannot be written: {error.strerror or error}; choose another file"
        ) from error


def _pack(answers: dict[str, Any]) -> str:
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
        data=f'<script type="application/json" id="data">{_json_for_script(packed, told)}</script>',
        script="".join(f"<script>{_escape_script_end(script)}</script>" for script in scripts),
    )


def _json_for_script(packed: str, told: str) -> str:
    """What a script element can hold, whatever the name of the corpus."""
    return json.dumps({"told": told, "packed": packed}).replace("<", "\\u003c")


def _escape_script_end(script: str) -> str:
    """The script, which must not end its element before its end.

    Raises:
        ExportError: it would.
    """
    if "</script" in script.lower() or "<!--" in script:
        raise PageExportError(
            "a script of the page holds </script or <!--, which would end it: write it apart"
        )
    return script
