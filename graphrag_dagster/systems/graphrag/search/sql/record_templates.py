"""Query templates on text units, relationships, claims and communities."""

from graphrag_dagster.systems.graphrag.search.sql.query_template import Template

_HOW_MANY = "(how many|number of|count of|list( the| all)?)"
_STATUS = "(?P<status>true|false|suspected)"
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
    Template(
        "claims_by",
        ("How many claims are there by status?",),
        (f"({_HOW_MANY} )?claims (are there )?(by|per|of each|for each) (?P<part>type|status|subject)",),
        """
        select {part} as "group", count(*) as claims
        from graph.claims
        group by all
        """,
        'claims desc, "group"',
        "Counted: claims by {part}",
        "{group}: {claims}",
        most=100,
    ),
    Template(
        "claims_about",
        ("How many claims are there about Oxtoby Dredging?",),
        (f"({_HOW_MANY}|which) ({_STATUS} )?claims (are there )?(about|on|against) <names>",),
        """
        select claim_id, description as title, type, status
        from graph.claims
        where subject in (select name from graph.entities where entity_id = any($entities)) and {of_status}
        """,
        "title, claim_id",
        "Counted: claims{with_status} about {names}",
        "{title} ({type}, {status})",
        "graph.claims",
        "claim_id",
    ),
    Template(
        "claims",
        ("How many claims are there?", "How many suspected claims are there?"),
        (
            f"{_HOW_MANY} ({_STATUS} )?claims{_THERE}",
            f"how many claims are {_STATUS}",
        ),
        """
        select claim_id, description as title, type, status
        from graph.claims
        where {of_status}
        """,
        "title, claim_id",
        "Counted: claims{with_status}",
        "{title} ({type}, {status})",
        "graph.claims",
        "claim_id",
    ),
    Template(
        "communities",
        ("How many communities are there at level C1?",),
        (f"{_HOW_MANY} communities{_THERE}( (at|on|of) level c?(?P<level>-?[0-9]{{1,3}}))?",),
        """
        select community_id, array_to_string(list(title order by degree desc, title)[1:3], ', ') as title,
            communities.level, size
        from graph.communities
            join graph.community_members using (community_id)
            join graph.entities using (entity_id)
        where {of_level}
        group by all
        """,
        "level, size desc, title, community_id",
        "Counted: communities{at_level}",
        "{title}: level {level}, {size} entities",
        "graph.communities",
        "community_id",
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
