"""Queries over staged rows of imported graphs, to rows whose ends have names.

What was staged has a temporary table for each kind of record, with the columns of the table of its name but
for those that are made here, and ``graphs``, the graphs that declare their entities.
"""

from collections.abc import Mapping
from typing import Final

from graphrag_dagster.apps.interchange.tables import IMPORT_QUARANTINE
from graphrag_dagster.kernel.tables.import_tables import (
    IMPORT_ACCOUNT,
    IMPORTED_CLAIMS,
    IMPORTED_COMMUNITIES,
    IMPORTED_DOCUMENTS,
    IMPORTED_ENTITIES,
    IMPORTED_FILES,
    IMPORTED_RELATIONS,
    IMPORTED_REPORTS,
    IMPORTED_TEXT_UNITS,
)
from graphrag_dagster.kernel.tables.table_declaration import Table

_PLACE = """{'path': path, 'row': "row"}"""


def _complete_files_condition(record: str) -> str:
    """Rows of the files that could be read to their end."""
    return f"(select * from temp.{record} where path not in (select path from temp.failed))"


#: Names of entities: titles, which several of a graph may share; of what has only an IRI its last part.
_NAMES = f"""
with keyed as (
    select graph, key, title, {_PLACE} as place from {_complete_files_condition("entities")}
    union all
    select graph, unnest([head_key, tail_key]) as key, '' as title, null as place
    from {_complete_files_condition("relations")}
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
from {_complete_files_condition("entities")} as e
inner join names as n on n.graph = e.graph and n.key = e.key
"""

#: A whole number as spreadsheets, pandas and R write it, ``1,000``, ``1.0``, ``1e+05``, in its digits; null
#: for all else: ``01`` is not 1.
_NUMBER = r"""
case
    when regexp_full_match({key}, '-?(0|[1-9][0-9]*)(\.0*)?') then regexp_replace({key}, '\.0*$', '')
    when regexp_full_match({key}, '[1-9][0-9]{{0,2}}(,[0-9]{{3}})+(\.0*)?')
        then replace(regexp_replace({key}, '\.0*$', ''), ',', '')
    when regexp_full_match({key}, '[1-9](\.[0-9]+)?[eE]\+?[0-9]{{1,2}}')
        and abs(try_cast({key} as double)) < 9e15
        and try_cast({key} as double) = floor(try_cast({key} as double))
        then cast(cast(cast({key} as double) as bigint) as varchar)
end
"""

#: Ends that no entity of their graph has as its key: found by the number that the key is, however written, or
#: by the title, where one entity alone has it.
_FOUND = f"""
declaring as (
    select distinct graph from temp.graphs
    where declares and graph in (select graph from names)
),

lost as (
    select distinct graph, key
    from (
        select graph, unnest([head_key, tail_key]) as key
        from {_complete_files_condition("relations")}
        where graph in (select graph from declaring)
    )
    anti join names using (graph, key)
),

numbered as (
    select graph, number, any_value(name) as name
    from (select graph, name, {_NUMBER.format(key="key")} as number from names)
    where number is not null and graph in (select graph from lost)
    group by graph, number
    having count(*) = 1
),

entitled as (
    select graph, title, any_value(name) as name
    from names
    where graph in (select graph from lost)
    group by graph, title
    having count(*) = 1
),

found as (
    select l.graph, l.key, coalesce(n.name, t.name) as name
    from (select *, {_NUMBER.format(key="key")} as number from lost) as l
    left join numbered as n on n.graph = l.graph and n.number = l.number
    left join entitled as t on t.graph = l.graph and t.title = l.key
    where n.name is not null or t.name is not null
),

known as (
    select graph, key, name from names
    union all
    select graph, key, name from found
)
"""

_RELATIONS = f"""{_NAMES},
{_FOUND},

named as (
    select
        r.*,
        coalesce(h.name, r.head_key) as head,
        coalesce(t.name, r.tail_key) as tail,
        g.graph is not null and (h.name is null or t.name is null) as dangling
    from {_complete_files_condition("relations")} as r
    left join known as h on h.graph = r.graph and h.key = r.head_key
    left join known as t on t.graph = r.graph and t.key = r.tail_key
    left join declaring as g on g.graph = r.graph
),

ended as (
    select *, hash(head, tail, label, weight, description, text_unit_keys, attributes) as content
    from named
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
from {_complete_files_condition("text_units")}
"""

#: Rows of entities are statements of them in files of IRIs, where an entity has several.
_ACCOUNT = f"""
with there as (
    select name from imports.entities
    union
    select unnest([head, tail]) as name from imports.relations
),

-- Members as the communities of the corpus have them: an entity is in the first of a level that names it.
placed as (
    select
        c.graph,
        c.key,
        row_number() over (partition by c.level, coalesce(e.name, c.member) order by c.place) as nth
    from (
        select graph, key, level, {_PLACE} as place, unnest(entity_keys) as member
        from {_complete_files_condition("communities")}
    ) as c
    left join (select distinct graph, key, name from imports.entities) as e
        on e.graph = c.graph and e.key = c.member
    where coalesce(e.name, c.member) in (select name from there)
),

peopled as (
    select distinct graph, key from placed where nth = 1
),

ruled as (
    select path, 'relations' as record, outcome, "row"
    from imports.relations
    union all
    select
        c.path,
        'communities' as record,
        case
            when row_number() over (
                partition by c.graph, c.key order by {{'path': c.path, 'row': c."row"}}
            ) > 1 then 'duplicate'
            when p.key is null then 'dangling'
            else 'read'
        end as outcome,
        c."row"
    from {_complete_files_condition("communities")} as c
    left join peopled as p on p.graph = c.graph and p.key = c.key
    union all
    select
        r.path,
        'reports' as record,
        case
            when p.key is null then 'dangling'
            when row_number() over (
                partition by r.graph, r.community_key order by {{'path': r.path, 'row': r."row"}}
            ) > 1 then 'duplicate'
            else 'read'
        end as outcome,
        r."row"
    from {_complete_files_condition("reports")} as r
    left join peopled as p on p.graph = r.graph and p.key = r.community_key
    union all
    select
        path,
        'entities' as record,
        case
            when row_number() over (partition by graph, key order by {_PLACE}) > 1 then 'duplicate'
            else 'read'
        end as outcome,
        "row"
    from {_complete_files_condition("entities")}
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
        when 'duplicate' then case record
            when 'communities' then 'a row before it is of the same community'
            when 'reports' then 'a row before it is a report of the same community'
            else 'a row before it is of the same entity, or states the same'
        end
        when 'loop' then 'it leads to where it begins'
        when 'dangling' then case record
            when 'communities' then 'it has no member that is not in a community before it'
            when 'reports' then 'it is of a community that the graph does not have, or that has no members'
            else 'it names an entity that its graph does not declare'
        end
    end as reason
from counted
group by path, record, outcome
union all by name
select path, record, outcome, rows, first_row, reason
from {_complete_files_condition("account")}
where outcome not in ('read', 'repaired')
    or record not in ('relations', 'entities', 'communities', 'reports')
    or (record = 'entities' and path in (select path from temp.graphs where iris))
"""

#: For each table, in the order in which they are made, the query that makes it.
QUERIES: Final[Mapping[Table, str]] = {
    IMPORTED_FILES: "select * from temp.files",
    IMPORTED_DOCUMENTS: f"select * from {_complete_files_condition('documents')}",
    IMPORTED_TEXT_UNITS: _TEXT_UNITS,
    IMPORTED_ENTITIES: _ENTITIES,
    IMPORTED_RELATIONS: _RELATIONS,
    IMPORTED_CLAIMS: f"select * from {_complete_files_condition('claims')}",
    IMPORTED_COMMUNITIES: f"select * from {_complete_files_condition('communities')}",
    IMPORTED_REPORTS: f"select * from {_complete_files_condition('reports')}",
    IMPORT_QUARANTINE: f"select * from {_complete_files_condition('quarantine')}",
    IMPORT_ACCOUNT: _ACCOUNT,
}
