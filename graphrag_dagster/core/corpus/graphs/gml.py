"""GML, as NetworkX, igraph, Gephi and yEd write it."""

import html
import re
from collections.abc import Iterator
from typing import BinaryIO

from graphrag_dagster.core.corpus.graphs.batches import Account, Batch
from graphrag_dagster.core.corpus.graphs.cells import apart
from graphrag_dagster.core.corpus.graphs.elements import EDGE, NODE, Element, Undeclared, batches_of
from graphrag_dagster.core.files.decoding import decode
from graphrag_dagster.core.files.limits import FileLimits
from graphrag_dagster.core.files.records import UnreadableError, clean

_TOKEN = re.compile(
    r'\s+|#[^\n]*|(?P<key>[A-Za-z_]\w*)|(?P<text>"[^"]*")|(?P<word>[^\s\[\]"]+)|(?P<mark>[\[\]])'
)
#: How nodes and edges are drawn; what is written on them there is their label where they have none.
_DRAWN, _WRITTEN = ("graphics", "LabelGraphics", "edgeAnchor"), "LabelGraphics"
_DEEPEST = 50

_Pairs = list[tuple[str, object]]


def gml_batches(stream: BinaryIO, graph: str, account: Account, limits: FileLimits) -> Iterator[Batch]:
    """Yield the nodes as entities and the edges as relations; rows are nodes and edges, counted from 1.

    The file is read whole. How things are drawn is left out.

    Raises:
        RefusedError: not text.
        UnreadableError: no GML, or too large.
    """
    data = stream.read(limits.max_bytes + 1)
    if len(data) > limits.max_bytes:
        raise UnreadableError(limits.beyond("max_bytes", "bytes"))
    found = dict(_pairs(decode(data).text)).get("graph")
    if not isinstance(found, list):
        raise UnreadableError('no GML: it has no part "graph [ … ]"')
    directed = str(next((held for name, held in found if name == "directed"), 0)) == "1"
    yield from batches_of(_elements(found), graph, account, Undeclared(directed))


def _elements(found: _Pairs) -> Iterator[Element]:
    row = 0
    for name, held in found:
        if name not in (NODE, EDGE):
            continue
        row += 1
        own: dict[str, object] = {}
        data: dict[str, object] = {}
        for key, value in held if isinstance(held, list) else ():
            if key in ("id", "source", "target") and key not in own:
                own[key] = value
            elif key in _DRAWN:
                text = dict(value).get("text") if key == _WRITTEN and isinstance(value, list) else None
                if text:
                    own.setdefault("label", text)
            else:
                _add(data, key, _plain(value))
        yield Element(name, row, own, data)


def _add(data: dict[str, object], key: str, value: object) -> None:
    """A key that comes again makes a list."""
    before = data.get(key)
    if key not in data:
        data[key] = apart(key, value)
    elif isinstance(before, list):
        before.append(value)
    else:
        data[key] = [before, value]


def _plain(value: object) -> object:
    return {key: _plain(one) for key, one in value} if isinstance(value, list) else value


def _pairs(text: str) -> _Pairs:
    """Keys with their values, which are texts, numbers or again such pairs."""
    found: _Pairs = []
    around: list[_Pairs] = []
    key: str | None = None
    for match in _tokens(text):
        if match["mark"] == "]" and around and key is None:
            found = around.pop()
        elif match["mark"] == "[" and key is not None and len(around) < _DEEPEST:
            inner: _Pairs = []
            found.append((key, inner))
            around.append(found)
            found, key = inner, None
        elif match["mark"] or (key is None and match["key"] is None):
            raise _broken(text, match.start(), f"{match[0][:40]!r} where none is due")
        elif key is None:
            key = match["key"]
        else:
            found.append((key, _value(match)))
            key = None
    if around or key is not None:
        raise UnreadableError("broken GML: it ends within a part; write the file again")
    return found


def _tokens(text: str) -> Iterator[re.Match[str]]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _broken(text, at, "a quote without its end")
        at = match.end()
        if match.lastgroup:
            yield match


def _value(match: re.Match[str]) -> object:
    if match["text"] is not None:
        return clean(html.unescape(match["text"][1:-1])) or None
    word = match[0]
    try:
        return int(word)
    except ValueError:
        try:
            return float(word)
        except ValueError:
            return clean(word)


def _broken(text: str, at: int, what: str) -> UnreadableError:
    line = text.count("\n", 0, at) + 1
    return UnreadableError(f"broken GML: line {line:,} has {what}; write the file again, or mend it there")
