"""What would be different without a document."""

from dataclasses import dataclass
from typing import Any

from graphrag_dagster.apps.explorer.documents.documents import document_row
from graphrag_dagster.apps.explorer.snapshots.opened import OpenSnapshot
from graphrag_dagster.kernel.lineage.impact import impact

_MOST = 50
_FRAMES = ("entities", "relationships", "claims", "communities", "reports", "answers")


@dataclass(frozen=True, slots=True)
class DocumentImpact:
    """What would go or change without a document; the communities are taken to stay as they are.

    Attributes:
        document_id: of the document.
        counts: rows of each sort that go, change, or would be asked for again at most.
        totals: rows of the corpus by sort.
        copies: paths of files with the same content, which would take its place.
        entities: at most 50, those that go first; before and after.
        relationships: in the same way.
        claims: in the same way.
        communities: at most 50 that lose members.
        reports: at most 50 whose context shows what goes or changes.
        answers: at most 50 that cite it, or were shown what goes or changes.
        found: how many there are of each of these sorts.
    """

    document_id: str
    counts: dict[str, int]
    totals: dict[str, int]
    copies: list[str]
    entities: list[dict[str, Any]]
    relationships: list[dict[str, Any]]
    claims: list[dict[str, Any]]
    communities: list[dict[str, Any]]
    reports: list[dict[str, Any]]
    answers: list[dict[str, Any]]
    found: dict[str, int]


def document_impact(shown: OpenSnapshot, document_id: str) -> DocumentImpact:
    """Return what would be different without a document.

    Raises:
        MissingError: there is no such document.
    """
    document_row(shown, document_id)
    all_of_it = impact(shown.lineage, document_id)
    frames = {name: getattr(all_of_it, name) for name in _FRAMES}
    return DocumentImpact(
        document_id=document_id,
        counts=all_of_it.counts(),
        totals=dict(all_of_it.totals),
        copies=list(all_of_it.copies),
        **{name: frame.head(_MOST).to_dicts() for name, frame in frames.items()},
        found={name: frame.height for name, frame in frames.items()},
    )
