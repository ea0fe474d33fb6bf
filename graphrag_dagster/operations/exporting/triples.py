"""A snapshot as plain lists: its triples, and the entities that they are of."""

from graphrag_dagster.core.exporting.csv_file import write_csv_file
from graphrag_dagster.core.exporting.folder import Making
from graphrag_dagster.core.exporting.rows import Rows
from graphrag_dagster.operations.exporting.imported_statements import imported_lists
from graphrag_dagster.operations.exporting.kept import kept_of
from graphrag_dagster.operations.exporting.own_tables import TITLES
from graphrag_dagster.operations.exporting.source import Source

#: Entities are called by their titles; a triple is described by the words that it rests on.
_TRIPLES = """
    select
        h.title as head, t.relation, o.title as tail, t.strength as weight,
        substr(u.text, t.start_char + 1, t.end_char - t.start_char) as description, t.triple_id as id,
        t.instances, d.path as document
    from graph_triples as t
    inner join ms_titles as h on h.entity_id = t.head_id
    inner join ms_titles as o on o.entity_id = t.tail_id
    left join corpus_text_chunks as u on u.text_unit_id = t.evidence_unit_id
    left join corpus_documents as d on d.document_id = u.document_id
    order by t.human_readable_id
"""
_ENTITIES = """
    select n.title, e.type, e.description, e.names, e.frequency, e.degree
    from graph_entities as e
    inner join ms_titles as n on n.entity_id = e.entity_id
    order by e.human_readable_id
"""


def write_lists(source: Source, made: Making) -> list[str]:
    """Write the triples, and the entities where any are declared, as CSV."""
    if kept_of(source).graph:
        triples, entities = imported_lists(source)
    else:
        source.keep("ms_titles", TITLES)
        triples, entities = source.rows(_TRIPLES), source.rows(_ENTITIES)
    _write(made, "triples.csv", triples)
    if entities is not None:
        _write(made, "entities.csv", entities)
    return []


def _write(made: Making, path: str, rows: Rows) -> None:
    made.note(path, write_csv_file(made.place(path), rows, made), dict.fromkeys(rows.schema.names, "text"))
