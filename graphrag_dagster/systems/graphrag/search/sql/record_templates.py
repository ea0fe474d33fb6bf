"""Query templates on text units, relationships and columns of tables."""

from graphrag_dagster.systems.graphrag.search.sql.query_template import Template

_HOW_MANY = "(how many|number of|count of|list( the| all)?)"
_UNITS = "(text units|text chunks|chunks|passages)"
_RELATIONS = "(relationships|relations|edges|triples)"
_THERE = "( are there| exist| do we have)?"

COUNTS = (
    Template(
        "text_units",
        ("How many text units are there?",),
        (
            f"{_HOW_MANY} {_UNITS}{_THERE}",
            f"({_HOW_MANY}|which) {_UNITS} (that |which )?(mention|name|contain) <words>",
        ),
        """
        select text_unit_id, scope.title, path, position, tokens
        from corpus.text_chunks join scope using (document_id)
        where {holds}
        """,
        "path, position, text_unit_id",
        "Counted: text units{where}{holding}",
        "{title}, text unit {position}",
        "corpus.text_chunks",
        "text_unit_id",
    ),
    Template(
        "relationships",
        ("How many relationships are there?",),
        (f"{_HOW_MANY} (relationships|connections){_THERE}",),
        """
        select relationship_id, source.title || ' – ' || target.title as title, weight
        from graph.relationships
            join graph.entities source on source.entity_id = source_id
            join graph.entities target on target.entity_id = target_id
        """,
        "weight desc, title, relationship_id",
        "Counted: relationships of the graph, each pair of entities once",
        "{title}",
        "graph.relationships",
        "relationship_id",
    ),
    Template(
        "relations_by",
        ("How many relations are there of each type?",),
        (
            f"({_HOW_MANY} )?{_RELATIONS} (are there |exist )?(by|per|of each|for each) "
            "(label|kind|type|name)( are there| exist)?",
        ),
        """
        select relation as "group", count(*) as relations
        from graph.triples
        group by all
        """,
        'relations desc, "group"',
        "Counted: relations of the graph, by label",
        "{group}: {relations}",
        most=100,
    ),
)


_EACH = "(by|per|for each|for every|in each)"
_AGGREGATE = (
    "(?P<aggregate>average|mean|median|sum|total|minimum|maximum|min|max|lowest|highest|smallest|largest)"
)

COLUMNS = (
    Template(
        "column_value",
        ("How many documents have the vessel Mudlark?",),
        ("(how many|which|number of|list( the| all)?) documents (have|has|with) (the )?<column_value>",),
        """
        select document_id, scope.title, path, "row", min(text) as "value"
        from scope join corpus.document_metadata using (document_id)
        where key = any($column) and (lower(text) = lower($wanted) or number = try_cast($wanted as double))
        group by all
        """,
        "path, row",
        "Counted: documents{where} whose {column} is {wanted}",
        "{title}",
        "corpus.documents",
        "document_id",
    ),
    Template(
        "column_extremes",
        ("Which 3 documents have the highest damage?",),
        (
            "which (<n> )?documents? (have|has) (the )?"
            "(?P<extreme>highest|largest|most|lowest|smallest|least) <number>",
        ),
        """
        select document_id, title, path, "row", {outermost}("value") as "value"
        from scope join numbers using (document_id)
        group by all
        """,
        '"value" {direction}, path, row',
        "Ranked: documents{where} by {column}, the {extreme} first",
        "{title}: {value}",
        "corpus.documents",
        "document_id",
        most=10,
        ranks=True,
    ),
    Template(
        "column_by",
        ("What is the average damage by vessel?", "The total damage per year"),
        (f"(what (is|was|are) )?(the )?{_AGGREGATE} (of (the )?)?<number> {_EACH} <group>",),
        """
        select {group} as "group", round({aggregate}("value"), 6) as "value",
            count(distinct document_id) as documents
        from scope join numbers using (document_id) {groups}
        group by all
        """,
        '"group" nulls last',
        "Computed: {aggregate} of {column} over documents{where}, by {by}",
        "{group}: {value} (of {documents})",
        most=100,
    ),
    Template(
        "column",
        ("What is the highest damage?",),
        (f"(what (is|was|are) )?(the )?{_AGGREGATE} (of (the )?)?<number>",),
        """
        select round({aggregate}("value"), 6) as "value", count(distinct document_id) as documents
        from scope join numbers using (document_id)
        """,
        "documents",
        "Computed: {aggregate} of {column} over documents{where}",
        "{value} (of {documents} documents)",
    ),
)
