"""What else there is in an index: text units, relationships, claims, communities."""

from graphrag_dagster.core.search.methods.sql.template import Template

_HOW_MANY = "(how many|number of|count of|list( the| all)?)"
_STATUS = "(?P<status>true|false|suspected)"
_THERE = "( are there| exist| do we have)?"

COUNTS = (
    Template(
        "text_units",
        ("How many text units are there?",),
        (f"{_HOW_MANY} (text units|text chunks|chunks|passages){_THERE}",),
        """
        select text_unit_id, scope.title, path, position, tokens
        from corpus.text_chunks join scope using (document_id)
        """,
        "path, position, text_unit_id",
        "Counted: text units{where}",
        "{title}, text unit {position}",
        "corpus.text_chunks",
        "text_unit_id",
    ),
    Template(
        "relationships",
        ("How many relationships are there?",),
        (f"{_HOW_MANY} (relationships|relations|connections|edges){_THERE}",),
        """
        select relationship_id, source.title || ' – ' || target.title as title, weight
        from graph.relationships
            join graph.entities source on source.entity_id = source_id
            join graph.entities target on target.entity_id = target_id
        """,
        "weight desc, title, relationship_id",
        "Counted: relationships of the graph",
        "{title}",
        "graph.relationships",
        "relationship_id",
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
        (f"{_HOW_MANY} communities{_THERE}( (at|on|of) level c?(?P<level>[0-9]{{1,3}}))?",),
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
