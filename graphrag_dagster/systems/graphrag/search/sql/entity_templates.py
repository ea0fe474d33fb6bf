"""Query templates on entities: counts by type, rankings by a measure, and connections."""

from graphrag_dagster.systems.graphrag.search.sql.query_template import Template

_CONNECTED = "(directly )?(connected|linked|related|tied)"
_WHO = "(?P<types>who|(which|what) .+?|how many .+?)"
_WHICH = "(?P<types>who|(which|what) .+?)"
_MEASURED = "(?P<measure>connections|neighbou?rs|relationships|links|documents|text units|mentions)"

_MEASURES = """
        select entity_id, title, type, degree as neighbours,
            count(distinct document_id) as documents, count(distinct text_unit_id) as text_units
        from graph.entities join mentions using (entity_id)
        where {of_type}
        group by all
        """
_NEIGHBOURS = """
        select relationship_id, entity_id, title, type, weight
        from neighbours join graph.entities using (entity_id)
        where own = any($entities) and {of_type}
        """

_THERE = "( are there| exist| do we have)?"
_RELATIONS = "(relationships?|relations?|connections?|links?|ties|edges|triples)"
_EDGES = "(relationships|relations|edges|triples)"
_COUNTED = "(?P<types>(how many|which|what) .+?)"
_VERB = r"\w+( (for|with|at|in|to|on|from|over|about|against))?"
_STATEMENTS = """
        select triple_id, first || ' ' || replace(relation, '_', ' ') || ' ' || last as title, strength
        from graph.triples
            join (select entity_id as head_id, title as first from graph.entities) using (head_id)
            join (select entity_id as tail_id, title as last from graph.entities) using (tail_id)"""

ENTITIES = (
    Template(
        "entities_by_type",
        ("How many entities are there of each type?",),
        ("((how many|number of) )?entities (are there )?(by|per|of each|for each) type",),
        """
        select type as "group", count(distinct entity_id) as entities
        from graph.entities join mentions using (entity_id)
        group by all
        """,
        'entities desc, "group"',
        "Counted: entities{named} by type",
        "{group}: {entities}",
        most=100,
    ),
    Template(
        "entities_having",
        ("How many organizations have more than 20 connections?",),
        (
            f"(how many|which) <types> (have|(are (named|mentioned)|appear|occur) in) <compare> {_MEASURED}",
            f"(?P<types>who) (has|is named in|is mentioned in|appears in) <compare> {_MEASURED}",
        ),
        f"{_MEASURES.rstrip()} having {{measure}} {{compare}} $number",
        "{measure} desc, title, entity_id",
        "Counted: {what}{named} with {compared} {measured}",
        "{title}: {measure}",
        "graph.entities",
        "entity_id",
    ),
    Template(
        "ranked_entities",
        (
            "Which 5 people are most connected?",
            "What are the most mentioned organizations?",
            "Who appears in most documents?",
        ),
        (
            f"{_WHICH} (is|are) (the )?most (often )?(?P<measure>connected|mentioned|named)",
            f"{_WHICH} (is|are) (?P<measure>named|mentioned) (the )?most( often)?",
            f"{_WHICH} (has|have) (the )?most {_MEASURED}",
            f"{_WHICH} (appears?|occurs?|(is|are) (named|mentioned)) in (the )?most "
            "(?P<measure>documents|text units)",
            "((who|which|what) (is|are) )?(the )?(top )?(<n> )?most (often |frequently )?"
            "(?P<measure>connected|mentioned|named) <types>",
            f"((who|which|what) (is|are) )?(the )?top (<n> )?<types> by (number of )?{_MEASURED}",
        ),
        _MEASURES,
        "{measure} desc, title, entity_id",
        "Ranked: {what}{named} by number of {measured}",
        "{title}: {measure}",
        "graph.entities",
        "entity_id",
        most=10,
        ranks=True,
    ),
    Template(
        "relations_between",
        (
            "Are Morvane Tidal and Pentrath Energy connected?",
            "How many relations are there between Valdora and Old Basin?",
        ),
        (
            f"(is|are|was|were) <names> {_CONNECTED}( (to|with) each other)?",
            f"(is|are|was|were) (?P<names>.+ {_CONNECTED} (to|with) .+)",
            f"(how many|number of|which|what|list)( all)?( the)? {_RELATIONS} "
            "((are|is) there |exist |do we have )?between <names>",
        ),
        f"""{_STATEMENTS}
        where head_id = any($entities) and tail_id = any($entities)
        """,
        "strength desc, title, triple_id",
        "Found: relations between {names}",
        "{title}",
        "graph.triples",
        "triple_id",
        names=(2, 10),
    ),
    Template(
        "relations",
        ("How many relations are there?",),
        (f"(how many|number of|list( all)?( the)?) (relations|edges|triples){_THERE}",),
        _STATEMENTS,
        "strength desc, title, triple_id",
        "Counted: relations of the graph, each label between two entities once",
        "{title}",
        "graph.triples",
        "triple_id",
    ),
    Template(
        "relations_of",
        ("How many relations does Ludo Straker have?",),
        (
            f"(how many|which|what) {_EDGES} (does|has|do|have) <names>( have)?",
            f"(how many|number of|list( all)?( the)?) {_EDGES} ((are|is) there )?(of|from) <names>",
        ),
        f"""{_STATEMENTS}
        where head_id = any($entities) or tail_id = any($entities)
        """,
        "strength desc, title, triple_id",
        "Counted: relations of {names}",
        "{title}",
        "graph.triples",
        "triple_id",
    ),
    Template(
        "related_by",
        ("How many companies did Valdora charter?", "Who owns the Valdora?"),
        (
            f"{_COUNTED} (do|does|did|has|have|had) <names> (?P<does>{_VERB})",
            f"{_COUNTED} (is|are|was|were|(has|have) been) (?P<does>{_VERB}) by <names>",
            f"{_WHO} (?P<inverse>{_VERB}) <names>",
        ),
        f"""{_STATEMENTS}
            join (select entity_id, type from graph.entities)
                on entity_id = if(head_id = any($entities) and relation = any($out), tail_id, head_id)
        where (head_id = any($entities) and relation = any($out)
            or tail_id = any($entities) and relation = any($in)) and {{of_type}}
        qualify row_number() over (partition by entity_id order by strength desc, triple_id) = 1
        """,
        "strength desc, title, triple_id",
        "Counted: {what} in the relation {relation} with {names}",
        "{title}",
        "graph.triples",
        "triple_id",
    ),
    Template(
        "common_neighbours",
        ("Who is connected with both Morvane Tidal and Ketterick Shipyard?",),
        (
            f"{_WHO} (is|are|was|were) {_CONNECTED} (to|with) (both )?<names>",
            f"{_WHICH} (connects?|links?|ties?) <names>",
        ),
        """
        select entity_id, title, type, sum(weight) as weight
        from neighbours join graph.entities using (entity_id)
        where own = any($entities) and {of_type}
        group by all having count(distinct own) = len($entities)
        """,
        "weight desc, title, entity_id",
        "Counted: {what} connected with each of {names}",
        "{title} ({type})",
        "graph.entities",
        "entity_id",
        names=(2, 10),
    ),
    Template(
        "neighbours",
        ("How many organizations is Torquil Haddow connected to?", "Who is connected with Ludo Straker?"),
        (
            f"how many <types> (is|are|was|were) <names> {_CONNECTED} (to|with)",
            f"{_WHO} (is|are|was|were) {_CONNECTED} (to|with) <names>",
            f"{_WHICH} (is|are|was|were) <names> {_CONNECTED} (to|with)",
            "how many (connections|neighbou?rs|links) (does|has) <names>( have)?",
        ),
        _NEIGHBOURS,
        "weight desc, title, entity_id",
        "Counted: {what} connected with {names}",
        "{title} ({type})",
        "graph.relationships",
        "relationship_id",
    ),
    Template(
        "entities",
        (
            "How many people are there?",
            "How many organizations are named in documents of the folder council?",
        ),
        (
            "(how many|number of|count of|list( the| all)?|which) <types>"
            "( are there| exist| occur| appear| do we have| are (named|mentioned|known)| (named|mentioned))?",
            "how many <types> (do|does) documents (mention|name)",
        ),
        """
        select entity_id, title, type, count(distinct document_id) as documents
        from graph.entities join mentions using (entity_id)
        where {of_type}
        group by all
        """,
        "documents desc, title, entity_id",
        "Counted: {what}{named}",
        "{title}",
        "graph.entities",
        "entity_id",
    ),
)
