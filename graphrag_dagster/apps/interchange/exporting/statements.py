"""The statements of RDF that came, as they were."""

from graphrag_dagster.apps.interchange.exporting.source import Source
from graphrag_dagster.apps.interchange.readers.formats import RDF_FORMATS
from graphrag_dagster.apps.interchange.writers.folder import Making
from graphrag_dagster.apps.interchange.writers.ntriples import write_lines

#: Query of the files of RDF; each is a graph of its own.
RDF_PATHS = f"select path from imports_files where format in {RDF_FORMATS}"
_PATH = "statements.nt"

#: Blank nodes of several files that share a name are not the same.
_STATEMENTS = f"""
with files as (
    select
        path, case when count(*) over () > 1 then 'g' || row_number() over (order by path) || '_' else '' end
            as prefix
    from ({RDF_PATHS})
),

said as (
    select
        path, "row", 0 as position, 0 as place, head_key as subject, attributes ->> 'predicate' as predicate,
        tail_key as object, null as value, null as language, null as datatype
    from imports_relations
    union all
    select
        b.path, b."row", p.id, v.id, b.key, p.key, v.value ->> 'iri', v.value ->> 'value',
        v.value ->> 'language', v.value ->> 'datatype'
    from imports_entities as b, json_each(b.attributes::json) as p, json_each(p.value) as v
    where b.path in ({RDF_PATHS})
)

select
    case when starts_with(s.subject, '_:') then '_:' || f.prefix || substr(s.subject, 3) else s.subject end
        as subject,
    s.predicate,
    case when starts_with(s.object, '_:') then '_:' || f.prefix || substr(s.object, 3) else s.object end
        as object,
    s.value, s.language, s.datatype
from said as s
inner join files as f on f.path = s.path
order by s.path, s."row", s.position, s.place
"""


def write_statements(source: Source, made: Making) -> None:
    """Write the statements of RDF that came as N-Triples, where any did."""
    if source.value(RDF_PATHS) is not None:
        made.note(_PATH, write_lines(made.place(_PATH), source.rows(_STATEMENTS)))
