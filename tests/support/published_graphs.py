"""A made-up index of any size, written into the warehouse and published as a run would."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from graphrag_dagster.kernel.storage.published import publish
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.table_declaration import Column, Table
from graphrag_dagster.systems.graphrag.resolution.tables import ALIASES
from graphrag_dagster.systems.graphrag.tables import GLEANED_ENTITIES, GLEANED_RELATIONSHIPS

UNIT_MENTIONS = 20
DOCUMENT_UNITS = 50


@dataclass(frozen=True)
class MadeGraph:
    """How large an index is, and how its communities nest.

    ``sizes``: members of the communities of each level, the coarsest first; every size divides the one before.
    """

    entities: int
    relationships_each: int = 3
    mentions_each: int = 10
    sizes: Sequence[int] = (1_000, 100, 10)
    seed: int = 5

    @property
    def units(self) -> int:
        return max(1, self.entities * self.mentions_each // UNIT_MENTIONS)

    @property
    def documents(self) -> int:
        return -(-self.units // DOCUMENT_UNITS)


def entity_id(number: int) -> str:
    return f"e{number:09}"


def community_id(level: int, number: int) -> str:
    return f"c{level}-{number:07}"


def unit_id(number: int) -> str:
    return f"u{number:09}"


def document_id(number: int) -> str:
    return f"d{number:07}"


def publish_graph(made: MadeGraph, corpus: str, warehouse: Warehouse) -> None:
    """Write all tables of an index and publish it."""
    frames = {**_texts(made), **_graph(made), **_communities(made)}
    for table, columns in frames.items():
        warehouse.write(table, corpus, filled(table, columns))
    publish(warehouse, corpus)


def filled(table: Table, columns: Mapping[str, object]) -> pl.DataFrame:
    """A frame of the declared types; columns that are not given have one plain value in every row."""
    given = pl.DataFrame(columns, schema_overrides={name: table.types()[name] for name in columns})
    missing = [column for column in table.columns if column.name not in columns]
    return given.with_columns(
        pl.lit(_plain(column), dtype=column.polars_type()).alias(column.name) for column in missing
    ).select(table.column_names)


def _plain(column: Column) -> object:
    if column.nullable:
        return None
    if column.values:
        return next(iter(column.values))
    return {"VARCHAR": "x", "BOOLEAN": False, "VARCHAR[]": []}.get(column.type, 0)


def _title(number: int) -> str:
    return f"Person {number}"


def _texts(made: MadeGraph) -> dict[Table, dict[str, object]]:
    rng = np.random.default_rng(made.seed)
    # The first entities are named everywhere, as those of the highest degree are.
    named = (made.entities * rng.random((made.units, UNIT_MENTIONS)) ** 2).astype(int)
    texts, starts, mentions, alias = [], [], [], {}
    place, document_texts = 0, [""] * made.documents
    for unit, members in enumerate(named.tolist()):
        document = unit // DOCUMENT_UNITS
        place = 0 if unit % DOCUMENT_UNITS == 0 else place
        parts, length = [], 0
        for position, entity in enumerate(members):
            said = f"{_title(entity)} went to the harbour on the day before the gale. "
            end = length + len(_title(entity))
            mentions.append((unit, position, entity, length, end))
            alias[document, entity] = alias.get((document, entity), 0) + 1
            parts.append(said)
            length += len(said)
        texts.append("".join(parts))
        starts.append(place)
        place += length
        document_texts[document] += texts[-1]
    units = [unit_id(n) for n in range(made.units)]
    documents = [document_id(n) for n in range(made.documents)]
    of_units = [document_id(n // DOCUMENT_UNITS) for n in range(made.units)]
    paths = [f"texts/{n}.txt" for n in range(made.documents)]
    lengths = [len(text) for text in texts]
    names = [_title(entity).upper() for _, _, entity, _, _ in mentions]
    return {
        tables.FILES: {"path": paths, "bytes": [len(text) for text in document_texts], "format": "txt"},
        tables.DOCUMENTS: {
            "document_id": documents,
            "human_readable_id": range(made.documents),
            "path": paths,
            "title": [f"Text {n}" for n in range(made.documents)],
            "text": document_texts,
            "characters": [len(text) for text in document_texts],
            "metadata": "{}",
        },
        tables.TEXT_CHUNKS: {
            "text_unit_id": units,
            "human_readable_id": range(made.units),
            "document_id": of_units,
            "position": [n % DOCUMENT_UNITS for n in range(made.units)],
            "start_char": starts,
            "end_char": [start + length for start, length in zip(starts, lengths, strict=True)],
            "text": texts,
            "tokens": [length // 4 for length in lengths],
        },
        tables.UNIT_LEDGER: {"text_unit_id": units, "entities": UNIT_MENTIONS},
        GLEANED_ENTITIES: {
            "instance_id": [f"i{n}" for n in range(len(mentions))],
            "text_unit_id": [units[unit] for unit, *_ in mentions],
            "position": [position for _, position, *_ in mentions],
            "name": names,
            "surface": names,
            "type": "PERSON",
            "description": "Went to the harbour",
            "spans": [[{"start": start, "end": end}] for *_, start, end in mentions],
        },
        ALIASES: {
            "document_id": [documents[document] for document, _ in alias],
            "name": [_title(entity).upper() for _, entity in alias],
            "entity": [_title(entity).upper() for _, entity in alias],
            "mentions": list(alias.values()),
        },
    } | {tables.ENTITIES: _entities(made, named)}


def _entities(made: MadeGraph, named: np.ndarray) -> dict[str, object]:
    flat = pl.DataFrame({"entity": named.ravel(), "unit": np.repeat(np.arange(made.units), UNIT_MENTIONS)})
    units = flat.group_by("entity").agg(pl.col("unit").unique().sort()).sort("entity")
    by_entity = dict(units.iter_rows())
    found = [[unit_id(unit) for unit in by_entity.get(n, [])] for n in range(made.entities)]
    titles = [_title(n) for n in range(made.entities)]
    return {
        "entity_id": [entity_id(n) for n in range(made.entities)],
        "human_readable_id": range(made.entities),
        "name": [title.upper() for title in titles],
        "title": titles,
        "names": [[title] for title in titles],
        "type": ["PERSON" if n % 3 else "PLACE" for n in range(made.entities)],
        "description": [f"{title} went to the harbour again and again." for title in titles],
        "text_unit_ids": found,
        "frequency": [len(one) for one in found],
        "instances": made.mentions_each,
        "degree": [made.relationships_each * 2 + max(0, 200 - n) for n in range(made.entities)],
    }


def _graph(made: MadeGraph) -> dict[Table, dict[str, object]]:
    rng = np.random.default_rng(made.seed + 1)
    number = made.entities * made.relationships_each
    one = rng.integers(0, made.entities, number)
    # Most relationships stay within the finest community.
    near = one + rng.integers(1, max(2, made.sizes[-1]), number)
    other = np.where(rng.random(number) < 0.7, near, rng.integers(0, made.entities, number)) % made.entities
    pairs = np.unique(np.sort(np.stack([one, other], axis=1), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]].tolist()
    ids = [f"r{n:09}" for n in range(len(pairs))]
    names = [(_title(a).upper(), _title(b).upper()) for a, b in pairs]
    units = [unit_id((a + b) % made.units) for a, b in pairs]
    return {
        tables.RELATIONSHIPS: {
            "relationship_id": ids,
            "human_readable_id": range(len(pairs)),
            "source": [min(pair) for pair in names],
            "target": [max(pair) for pair in names],
            "source_id": [entity_id(a) for a, _ in pairs],
            "target_id": [entity_id(b) for _, b in pairs],
            "description": [f"{a} and {b} met at the harbour." for a, b in names],
            "weight": [float((a * 7 + b) % 9 + 1) for a, b in pairs],
            "instances": 1,
            "text_unit_ids": [[unit] for unit in units],
        },
        GLEANED_RELATIONSHIPS: {
            "instance_id": [f"s{n}" for n in range(len(pairs))],
            "text_unit_id": units,
            "source": [min(pair) for pair in names],
            "target": [max(pair) for pair in names],
            "relation": "met",
            "description": "They met at the harbour.",
            "strength": 1.0,
            "spans": [[{"start": 0, "end": 20}]] * len(pairs),
        },
    }


def _communities(made: MadeGraph) -> dict[Table, dict[str, object]]:
    levels = range(len(made.sizes))
    found = [(level, n) for level in levels for n in range(-(-made.entities // made.sizes[level]))]
    ids = [community_id(level, n) for level, n in found]
    parents = [
        community_id(level - 1, n * made.sizes[level] // made.sizes[level - 1]) if level else None
        for level, n in found
    ]
    members = [
        (level, n, community_id(level, n // made.sizes[level]))
        for level in levels
        for n in range(made.entities)
    ]
    shown = range(max(3, len(made.sizes) - 1) + 1)
    projected = [
        (k, n, community_id(min(k, levels[-1]), n // made.sizes[min(k, levels[-1])]))
        for k in shown
        for n in range(made.entities)
    ]
    explanation = "They went to the harbour. [Data: Entities ({})]"
    return {
        tables.COMMUNITIES: {
            "community_id": ids,
            "human_readable_id": range(len(found)),
            "level": [level for level, _ in found],
            "parent_id": parents,
            "is_leaf": [level == levels[-1] for level, _ in found],
            "size": [min(made.sizes[level], made.entities - n * made.sizes[level]) for level, n in found],
        },
        tables.COMMUNITY_MEMBERS: {
            "community_id": [community for _, _, community in members],
            "entity_id": [entity_id(n) for _, n, _ in members],
            "level": [level for level, *_ in members],
        },
        tables.COMMUNITY_LEVELS: {
            "level": [level for level, *_ in projected],
            "entity_id": [entity_id(n) for _, n, _ in projected],
            "community_id": [community for *_, community in projected],
        },
        tables.COMMUNITY_REPORTS: {
            "report_id": ids,
            "human_readable_id": range(len(found)),
            "level": [level for level, _ in found],
            "title": [f"The people of harbour {n} of level {level}" for level, n in found],
            "summary": "These people went to the harbour on the day before the gale. " * 3,
            "rating": [float(n % 11) for _, n in found],
            "content": [
                f"# The people of harbour {n}\n\n" + "They went to the gale. " * 60 for _, n in found
            ],
            "tokens": 300,
        },
        tables.REPORT_FINDINGS: {
            "report_id": [one for one in ids for _ in range(3)],
            "position": [position for _ in ids for position in range(3)],
            "summary": "They went",
            "explanation": [
                explanation.format(n * made.sizes[level] + position)
                for level, n in found
                for position in range(3)
            ],
        },
        tables.REPORT_REFERENCES: {
            "report_id": [one for one in ids for _ in range(3)],
            "finding": [position for _ in ids for position in range(3)],
            "position": 0,
            "kind": "entity",
            "record_id": [
                entity_id(min(n * made.sizes[level] + position, made.entities - 1))
                for level, n in found
                for position in range(3)
            ],
            "cited_as": "1",
            "valid": True,
        },
    }
