"""Composes the query of a template with the selected documents."""

import re
from textwrap import dedent, indent

from graphrag_dagster.kernel.questions.context.queries import Query
from graphrag_dagster.systems.graphrag.search.sql.scope import Scope
from graphrag_dagster.systems.graphrag.search.sql.slots import Filled
from graphrag_dagster.systems.graphrag.search.sql.template import Template

#: Parts that a template's query may read like tables, each after those that it reads.
_PARTS = {
    "scope": """
        select document_id, path, "row", title, period_start as first_day, period_end as last_day,
            first_day || if(last_day > first_day, ' to ' || last_day, '') as date
        from corpus.documents left join corpus.document_periods p using (document_id)
        where coalesce(p.position, 0) = 0""",
    "numbers": """
        select document_id, number as "value" from corpus.document_metadata
        where key = any($column) and number is not null""",
    "mentions": """
        select distinct entity_id, text_unit_id, document_id, u.human_readable_id as place
        from (select entity_id, unnest(text_unit_ids) as text_unit_id from graph.entities)
            join corpus.text_chunks u using (text_unit_id)
            join scope using (document_id)""",
    "neighbours": """
        select source_id as own, target_id as entity_id, weight, relationship_id from graph.relationships
        union all
        select target_id, source_id, weight, relationship_id from graph.relationships""",
}
_READS = {"mentions": ("scope",)}

#: How many rows there are, and of dated ones how many are left out.
_COUNTS = {
    False: "(select count(*) from found) as total\nfrom found",
    True: "(select count(date) from found) as total, (select count(*) - count(date) from found) as undated\n"
    "from found\nwhere date is not null",
}


def limited(template: Template) -> bool:
    """Whether a template's query can be limited to some documents."""
    return bool({"scope", "mentions"} & _parts(template))


def composed(template: Template, filled: Filled, scope: Scope, most: int) -> Query:
    """Return the query of a question.

    Its rows have the columns of the template, ``total``, how many rows there are, and of a dated template
    ``undated``, how many rows are left out.

    Args:
        template: of the question.
        filled: its slots.
        scope: the documents that are meant.
        most: rows that are given.
    """
    used = _parts(template)
    parts = {name: dedent(sql).strip() for name, sql in _PARTS.items() if name in used}
    if conditions := scope.conditions():
        parts["scope"] += "".join(f"\n    and {one}" for one in conditions)
    parts["found"] = _put(dedent(template.sql).strip(), filled)
    joined = ",\n".join(f"{name} as (\n{indent(sql, '    ')}\n)" for name, sql in parts.items())
    sql = (
        f"with {joined}\nselect *, {_COUNTS[template.dated]}\n"
        f"order by {_put(template.order, filled)}\nlimit {most}"
    )
    parameters = {**filled.parameters, **scope.parameters()}
    return Query(template.name, reading_of(template, filled, scope), sql, parameters)


def reading_of(template: Template, filled: Filled, scope: Scope) -> str:
    """Return how the question was read, in words."""
    named = f" named in documents{scope.said}" if scope.said else ""
    return template.says.format(where=scope.said, named=named, **{"what": "entities", **filled.words})


def _put(sql: str, filled: Filled) -> str:
    return sql.format(**{"of_type": "true", "groups": "", **filled.pieces})


def _parts(template: Template) -> set[str]:
    named = {name for name in _PARTS if re.search(rf"\b{name}\b", template.sql)}
    return named.union(*(_READS.get(name, ()) for name in named))
