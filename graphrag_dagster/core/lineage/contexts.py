"""Which records stand in the contexts that reports were written from."""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import polars as pl

from graphrag_dagster.core.language.tasks import RecordKind
from graphrag_dagster.core.lineage.packed import PackedRow, claim_key, parse_context, report_key
from graphrag_dagster.core.lineage.rows import Rows


@dataclass(frozen=True, slots=True)
class Shown:
    """A row of a context and the record it shows; ``record_id`` is None where its name was cut."""

    row: PackedRow
    record_id: str | None


@dataclass(slots=True)
class _Records:
    """Ids by kind and key; records that say the same in the order of their ids."""

    ids: Mapping[RecordKind, dict[tuple[str, ...], deque[str]]] = field(
        default_factory=lambda: {
            kind: defaultdict(deque) for kind in ("entity", "relationship", "claim", "report")
        }
    )

    def take(self, row: PackedRow) -> str | None:
        waiting = self.ids[row.kind].get(row.key)
        if not waiting:
            return None
        return waiting.popleft() if len(waiting) > 1 else waiting[0]


def shown_in(rows: Rows, report_id: str, text: str) -> list[Shown]:
    """Return the rows of a report's context with their records."""
    packed = parse_context(text)
    records = _records_of(rows, report_id)
    return [Shown(row, records.take(row)) for row in packed.rows]


def claim_keys(claims: pl.DataFrame) -> Iterable[tuple[str, tuple[str, ...]]]:
    """Yield id and key of claims."""
    columns = ("subject", "object", "type", "status", "start_date", "end_date", "description")
    for identity, *cells in claims.select("claim_id", *columns).iter_rows():
        yield identity, claim_key(*cells)


def _records_of(rows: Rows, community_id: str) -> _Records:
    """Everything that the context of a community's report may show."""
    made = _Records()
    members = rows.of("graph.community_members", "community_id", [community_id], ("entity_id",))["entity_id"]
    entities = rows.of("graph.entities", "entity_id", members, ("entity_id", "name"))
    for identity, name in entities.iter_rows():
        made.ids["entity"][name,].append(identity)
    edges = rows.of(
        "graph.relationships",
        "source_id",
        members,
        ("relationship_id", "source", "target", "target_id"),
    ).join(members.to_frame(), left_on="target_id", right_on="entity_id", how="semi")
    for identity, source, target in edges.select("relationship_id", "source", "target").iter_rows():
        made.ids["relationship"][source, target].append(identity)
    of_names = [rows.of("graph.claims", end, entities["name"]) for end in ("subject", "object")]
    for identity, key in claim_keys(pl.concat(of_names).unique("claim_id").sort("claim_id")):
        made.ids["claim"][key].append(identity)
    children = rows.of("graph.communities", "parent_id", [community_id], ("community_id",))["community_id"]
    reports = rows.of("reports.community_reports", "report_id", children, ("report_id", "title"))
    for identity, title in reports.iter_rows():
        made.ids["report"][report_key(title)].append(identity)
    return made
