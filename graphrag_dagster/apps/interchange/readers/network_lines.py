"""Graphs as lines of nodes and edges: SIF, Pajek, and the edge and adjacency lists of NetworkX."""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import BinaryIO, Final

from graphrag_dagster.apps.interchange.graph_rows.graph_elements import EDGE, NODE, Element, batches_of
from graphrag_dagster.apps.interchange.graph_rows.import_batches import ANY, ImportBatch, ReadAccount
from graphrag_dagster.apps.interchange.readers.text_lines import lines_of
from graphrag_dagster.kernel.documents.file_records import UnreadableError, clean

SIF: Final = "sif"
PAJEK: Final = "pajek"
EDGE_LIST: Final = "edge list"
NEIGHBOURS: Final = "list of neighbours"

_PARTS = re.compile(r'"([^"]*)"|(\S+)')
_SECTION = re.compile(r'\*\s*(\w+)\s*(?::?\s*(\d+))?\s*(?:"([^"]*)")?')
_WITH_DATA = re.compile(r"(?:\S+[ \t,]+){2}(\{.*\})\s*$")
_LONGEST_DATA = 100_000

_Lines = Iterator[str]


def network_batches(stream: BinaryIO, kind: str, graph: str, account: ReadAccount) -> Iterator[ImportBatch]:
    """Yield the nodes and edges of such a file; rows are nodes and edges, counted from 1 as they come.

    Raises:
        RefusedError: not text.
        UnreadableError: a line is too long, or a part of a Pajek file is no list.
    """
    read: Mapping[str, Callable[[_Lines, ReadAccount, Iterator[int]], Iterator[Element]]] = {
        SIF: _sif_elements,
        PAJEK: _pajek_elements,
        EDGE_LIST: _edge_list_elements,
        NEIGHBOURS: _adjacency_elements,
    }
    lines = (line for block in lines_of(stream) for line in block.lines if line and not line.isspace())
    yield from batches_of(read[kind](lines, account, count(1)), graph, account)


def holds_data(line: str) -> bool:
    """Whether a line is one of NetworkX's lists of edges, with attributes: ``a b {'weight': 1}``."""
    return _WITH_DATA.fullmatch(line.strip()) is not None


def _sif_elements(lines: _Lines, account: ReadAccount, rows: Iterator[int]) -> Iterator[Element]:
    for line in lines:
        cells = [cell.strip() for cell in (line.split("\t") if "\t" in line else line.split())]
        cells = [cell for cell in cells if cell]
        if len(cells) == 2:
            account.malformed("relations", next(rows), "a node and an interaction without another node", line)
        elif len(cells) == 1:
            yield Element(NODE, next(rows), {"id": cells[0]})
        for tail in cells[2:]:
            yield Element(EDGE, next(rows), {"source": cells[0], "target": tail}, {"interaction": cells[1]})


def _edge_list_elements(lines: _Lines, account: ReadAccount, rows: Iterator[int]) -> Iterator[Element]:
    for line in lines:
        if line.startswith(("#", "%")):
            continue
        with_data = _WITH_DATA.fullmatch(line.strip())
        bare = line[: line.index("{")] if with_data else line
        cells = (
            bare.replace(",", " ").split() if "\t" not in bare else [one.strip() for one in bare.split("\t")]
        )
        cells = [cell for cell in cells if cell]
        told = _literal(with_data[1]) if with_data else {}
        if told is None or len(cells) not in (2, 3) or "{" in bare:
            account.malformed("relations", next(rows), "no two nodes with the attributes of an edge", line)
            continue
        data = {str(name): held for name, held in told.items()}
        if len(cells) == 3:
            try:
                data.setdefault("weight", float(cells[2]))
            except ValueError:
                data.setdefault("label", cells[2])
        yield Element(EDGE, next(rows), {"source": cells[0], "target": cells[1]}, data)


def _literal(text: str) -> dict[object, object] | None:
    """A dictionary as Python writes it; nothing in it is run."""
    try:
        found = ast.literal_eval(text) if len(text) <= _LONGEST_DATA else None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _adjacency_elements(
    lines: _Lines,
    account: ReadAccount,  # noqa: ARG001 - no line of this form is malformed.
    rows: Iterator[int],
) -> Iterator[Element]:
    for line in lines:
        if not line.startswith("#"):
            node, *ends = line.split()
            yield Element(NODE, next(rows), {"id": node})
            for end in ends:
                yield Element(EDGE, next(rows), {"source": node, "target": end})


def _pajek_elements(lines: _Lines, account: ReadAccount, rows: Iterator[int]) -> Iterator[Element]:
    section, label = "", None
    for line in lines:
        if line.startswith("%"):
            continue
        if line.lstrip().startswith("*"):
            match = _SECTION.match(line.strip())
            section = match[1].lower() if match else ""
            label = match[3] if match else None
            if section == "matrix":
                raise UnreadableError("a matrix of Pajek; save it as *Arcs or *Edges, one line for each edge")
            continue
        parts = [clean(quoted or bare) for quoted, bare in _PARTS.findall(line)]
        if section == "vertices" and parts:
            yield Element(
                NODE, next(rows), {"id": parts[0], "label": parts[1] if len(parts) > 1 else parts[0]}
            )
        elif section in ("arcslist", "edgeslist") and len(parts) > 1:
            for end in parts[1:]:
                told = {"source": parts[0], "target": end, "directed": section == "arcslist"}
                yield Element(EDGE, next(rows), told, {"label": label} if label else {})
        elif section in ("arcs", "edges") and len(parts) > 1:
            told = {"source": parts[0], "target": parts[1], "directed": section == "arcs"}
            yield Element(EDGE, next(rows), told, _pajek_data(parts[2:], label))
        elif section in ("arcs", "edges", "arcslist", "edgeslist", "vertices"):
            account.malformed(ANY, next(rows), f"not what *{section} wants: ids of vertices", line)
        else:
            account.note(f"the part *{section[:40] or '?'} was left out")


def _pajek_data(rest: list[str], label: str | None) -> dict[str, object]:
    """The weight, and after ``l`` the label."""
    data: dict[str, object] = {}
    if rest:
        try:
            data["weight"] = float(rest[0])
            rest = rest[1:]
        except ValueError:
            pass
    pairs = dict(zip(rest[::2], rest[1::2], strict=False))
    if found := pairs.pop("l", label):
        data["label"] = found
    return {**data, **pairs}
