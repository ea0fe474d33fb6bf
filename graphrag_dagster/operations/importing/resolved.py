"""From the rows of graphs as they were read to rows whose ends have names: queries over what was staged.

What was staged has a temporary table for each kind of record, with the columns of the table of its name but
for those that are made here, and ``graphs``, the graphs that declare their entities.
"""

from collections.abc import Mapping
from typing import Final

from graphrag_dagster.tables import (
    IMPORT_ACCOUNT,
    IMPORT_QUARANTINE,
    IMPORTED_CLAIMS,
    IMPORTED_COMMUNITIES,
    IMPORTED_DOCUMENTS,
    IMPORTED_ENTITIES,
    IMPORTED_FILES,
    IMPORTED_RELATIONS,
    IMPORTED_REPORTS,
    IMPORTED_TEXT_UNITS,
    Table,
)

_PLACE = """{'path': path, 'row': "row"}"""


def _whole(record: str) -> str:
    """Rows of the files that could be read to their end."""
    return f"(select * from temp.{record} where path not in (select path from temp.failed))"


#: Names of entities: titles, which several of a graph may share; of what has only an IRI its last part.
_NAMES = f"""
with keyed as (
    select graph, key, title, {_PLACE} as place from {_whole("entities")}
    union all
    select graph, unnest([head_key, tail_key]) as key, '' as title, null as place
    from {_whole("relations")}
    where graph in (select graph from temp.graphs where iris)
),

titled as (
    select
        graph,
        key,
        coalesce(
            arg_min(title, place) filter (where title <> ''),
            case when graph in (select graph from temp.graphs where iris) and not starts_with(key, '_:')
                then nullif(trim(url_decode(regexp_extract(key, '([^/#:]+)[/#:]*$', 1))), '') end,
            key
        ) as title
    from keyed
    group by graph, key
),

names as (
    select
        graph,
        key,
        title,
        case
            when count(*) over (partition by graph, title) > 1 then title || ' (' || key || ')'
            else title
        end as name
    from titled
)
"""

_ENTITIES = f"""{_NAMES}
select e.* replace (n.title as title), n.name
from {_whole("entities")} as e
inner join names as n on n.graph = e.graph and n.key = e.key
"""

_RELATIONS = f"""{_NAMES},

ended as (
    select
        r.*,
        coalesce(h.name, r.head_key) as head,
        coalesce(t.name, r.tail_key) as tail,
        g.graph is not null and (h.name is null or t.name is null) as dangling,
        hash(
            r.head_key, r.tail_key, r.label, r.weight, r.description, r.text_unit_keys, r.attributes
        ) as content
    from {_whole("relations")} as r
    left join names as h on h.graph = r.graph and h.key = r.head_key
    left join names as t on t.graph = r.graph and t.key = r.tail_key
    left join (
        select distinct graph from temp.graphs
        where declares and graph in (select graph from names)
    ) as g on g.graph = r.graph
),

repeated as (
    select content from ended group by content having count(*) > 1
),

-- Hashes tell that rows may be alike, the rows themselves whether they are.
again as (
    select path, "row"
    from ended
    semi join repeated using (content)
    qualify row_number() over (
        partition by head, tail, label, weight, description, text_unit_keys, attributes order by {_PLACE}
    ) > 1
)

select
    e.* exclude (content, dangling),
    coalesce(
        nullif(e.description, ''),
        concat_ws(' ', e.head, case e.label when '' then '–' else replace(e.relation, '_', ' ') end, e.tail)
    ) as said,
    case
        when e.head = e.tail then 'loop'
        when a.path is not null then 'duplicate'
        when e.dangling then 'dangling'
        else 'read'
    end as outcome
from ended as e
left join again as a on a.path = e.path and a."row" = e."row"
"""

_TEXT_UNITS = f"""
select
    *,
    left(
        sha256(
            '9:text unit' || length(graph) || ':' || graph || length(key) || ':' || key
            || length(text) || ':' || text
        ),
        32
    ) as text_unit_id
from {_whole("text_units")}
"""

#: Rows of entities are statements of them in files of IRIs, where an entity has several.
_ACCOUNT = f"""
with ruled as (
    select path, 'relations' as record, outcome, "row"
    from imports.relations
    union all
    select
        path,
        'entities' as record,
        case
            when row_number() over (partition by graph, key order by {_PLACE}) > 1 then 'duplicate'
            else 'read'
        end as outcome,
        "row"
    from {_whole("entities")}
    where path in (select path from temp.graphs where not iris)
),

counted as (
    select
        r.path,
        r.record,
        case when r.outcome = 'read' and m.path is not null then 'repaired' else r.outcome end as outcome,
        r."row",
        m.reason
    from ruled as r
    left join temp.repaired as m on m.path = r.path and m.record = r.record and m."row" = r."row"
)

select path, record, outcome, count(*) as rows, min("row") as first_row,
    case outcome
        when 'repaired' then arg_min(reason, "row")
        when 'duplicate' then 'a row before it is of the same entity, or states the same'
        when 'loop' then 'it leads to where it begins'
        when 'dangling' then 'it names an entity that its graph does not declare'
    end as reason
from counted
group by path, record, outcome
union all by name
select path, record, outcome, rows, first_row, reason
from {_whole("account")}
where outcome not in ('read', 'repaired')
    or record not in ('relations', 'entities')
    or (record = 'entities' and path in (select path from temp.graphs where iris))
"""

#: For each table, in the order in which they are made, the query that makes it.
QUERIES: Final[Mapping[Table, str]] = {
    IMPORTED_FILES: "select * from temp.files",
    IMPORTED_DOCUMENTS: f"select * from {_whole('documents')}",
    IMPORTED_TEXT_UNITS: _TEXT_UNITS,
    IMPORTED_ENTITIES: _ENTITIES,
    IMPORTED_RELATIONS: _RELATIONS,
    IMPORTED_CLAIMS: f"select * from {_whole('claims')}",
    IMPORTED_COMMUNITIES: f"select * from {_whole('communities')}",
    IMPORTED_REPORTS: f"select * from {_whole('reports')}",
    IMPORT_QUARANTINE: f"select * from {_whole('quarantine')}",
    IMPORT_ACCOUNT: _ACCOUNT,
}
