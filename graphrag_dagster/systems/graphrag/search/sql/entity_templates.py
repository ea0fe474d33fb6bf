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
        "mentions_of",
        ("How often is Valdora mentioned?",),
        (
            "how (often|many times|frequently) (is|are|was|were|has|have) <names> (been )?(named|mentioned)",
            "how many (mentions|text units|passages) (are there )?(of|name|mention) <names>",
            "number of mentions of <names>",
        ),
        """
        select entity_id, title, type,
            count(distinct text_unit_id) as text_units, count(distinct document_id) as documents
        from graph.entities join mentions using (entity_id)
        where entity_id = any($entities)
        group by all
        """,
        "text_units desc, title, entity_id",
        "Counted: text units{where} that name {names}",
        "{title}: {text_units} text units in {documents} documents",
        names=(1, 10),
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
        "relationship_between",
        ("Are Morvane Tidal and Pentrath Energy connected?",),
        (
            f"(is|are|was|were) <names> {_CONNECTED}( (to|with) each other)?",
            f"(is|are|was|were) (?P<names>.+ {_CONNECTED} (to|with) .+)",
        ),
        """
        select relationship_id, source.title || ' – ' || target.title as title,
            relationships.description, weight
        from graph.relationships
            join graph.entities source on source.entity_id = source_id
            join graph.entities target on target.entity_id = target_id
        where source_id = any($entities) and target_id = any($entities)
        """,
        "weight desc, title, relationship_id",
        "Found: relationships between {names}",
        "{title}: {description}",
        "graph.relationships",
        "relationship_id",
        names=(2, 10),
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
            "how many (connections|neighbou?rs|relationships|links) (does|has) <names>( have)?",
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
