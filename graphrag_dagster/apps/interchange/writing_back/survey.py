"""The nodes of a server, compared with those that a corpus has."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from graphrag_dagster.errors import ExportError
from graphrag_dagster.kernel.common.printable import counted

#: Stands between the parts of a stamp; no name of a corpus has it.
_BETWEEN = "/"


def stamp_of(corpus: str, *state: str) -> str:
    """Return what says on a node which state of a corpus it has."""
    return _BETWEEN.join([corpus, *state])


def stamps_of(corpus: str) -> str:
    """Return how all stamps of a corpus begin."""
    return f"{corpus}{_BETWEEN}"


@dataclass(slots=True)
class Survey:
    """What a server has.

    Attributes:
        due: element ids of the nodes to be written, by key.
        stale: element ids of nodes that were written to before, and are none of the corpus any more.
        already: nodes that have what they are to have.
        changed: nodes that have lost the label that they came with.
        unknown: nodes that the corpus has not.
        gone: nodes of the corpus that are not there.
    """

    due: dict[str, list[str]] = field(default_factory=dict)
    stale: list[str] = field(default_factory=list)
    already: int = 0
    changed: int = 0
    unknown: int = 0
    gone: int = 0

    @property
    def nodes_due(self) -> int:
        """How many nodes are to be written."""
        return sum(map(len, self.due.values()))


def surveyed(
    nodes: Iterable[Mapping[str, Any]], known: Mapping[str, str | None], corpus: str, stamp: str
) -> Survey:
    """Return what a server has, compared with what a corpus has.

    Args:
        nodes: of the server: ``key``, ``element``, ``labels``, ``stamp`` and ``taken``.
        known: key of each node of the corpus → the label that it has to have, None for any.
        corpus: its name.
        stamp: of the state that is to be written.

    Raises:
        ExportError: our names are taken there, or no node is one of the corpus.
    """
    found, survey = set[str](), Survey()
    others: Counter[str] = Counter()
    for node in nodes:
        key, element, given = node["key"], node["element"], node["stamp"]
        ours = isinstance(given, str) and given.startswith(stamps_of(corpus))
        if key not in known:
            survey.unknown += 1
            survey.stale += [element] if ours else []
            continue
        found.add(key)
        label = known[key]
        if label is not None and label not in node["labels"]:
            survey.changed += 1
            survey.stale += [element] if ours else []
        elif not ours and (given is not None or node["taken"]):
            others["" if given is None else str(given).partition(_BETWEEN)[0]] += 1
        elif given == stamp:
            survey.already += 1
        else:
            survey.due.setdefault(key, []).append(element)
    survey.gone = len(known) - len(found)
    _require(others, found)
    return survey


def _require(others: Mapping[str, int], found: set[str]) -> None:
    for other, nodes in sorted(others.items()):
        whose = (
            f"what corpus {other!r} wrote" if other else "properties of these names that nobody wrote back"
        )
        undo = f", or take that away (graphrag-dagster write-back {other} --remove)" if other else ""
        raise ExportError(
            f"{counted(nodes, 'node has', 'nodes have')} {whose}: set another write_back.prefix in "
            f"corpus.yaml{undo}"
        )
    if not found:
        raise ExportError(
            "no node of the server is one of the corpus: where imports.neo4j.nodes gives another key than "
            "the element id, name its property in write_back.key; where the graph was made anew, index it "
            "again"
        )
