"""Forms of questions about the graph, and the query in Cypher that answers each.

They are forms of questions as those over the tables are, with Cypher in the place of SQL.
"""

from graphrag_dagster.systems.graphrag.search.sql.template import Template

_CONNECTED = "(directly )?(connected|linked|related|tied)"
_WHICH = "(?P<types>who|(which|what) .+?|what|list|how many .+?)"
_WITHIN = "within (?P<steps>[0-9]+|one|two|three|four) (steps?|hops?|relations?)"
_MANY = "((how many|number of|count( the)?|list( the)?) )?"
_PATHS = """
MATCH p = {paths}
WHERE a.entity_id = $first AND b.entity_id = $second
RETURN [n IN nodes(p) | n.title] AS entities, [r IN relationships(p) | r.relation] AS relations,
    length(p) AS steps
ORDER BY steps
LIMIT {most}"""

TEMPLATES = (
    Template(
        "paths",
        ("List all paths between Valdora and Old Basin within 2 steps",),
        (
            f"(list |find )?(all|the|all the) (paths|routes|connections) (between|from) <names>( {_WITHIN})?",
            f"(by|through) (what|which) (paths|routes) (is|are) <names> {_CONNECTED}( {_WITHIN})?",
        ),
        _PATHS.replace("{paths}", "(a:Entity)-[:RELATED*1..{steps}]-(b:Entity)"),
        "",
        "Found: paths of at most {steps} relations between {names}",
        "{entities}",
        names=(2, 2),
    ),
    Template(
        "shortest_paths",
        (
            "How are Valdora and Old Basin connected?",
            "What is the shortest path between Valdora and Old Basin?",
        ),
        (
            f"how (is|are|was|were) (?P<names>.+ {_CONNECTED} (to|with) .+)",
            f"how (is|are|was|were) <names> {_CONNECTED}( (to|with) each other)?",
            f"(find |show )?((what|which) (is|are) )?(the |a )?(shortest )?(paths?|routes?) "
            f"(between|from) <names>( {_WITHIN})?",
        ),
        _PATHS.replace("{paths}", "allShortestPaths((a:Entity)-[:RELATED*1..{steps}]-(b:Entity))"),
        "",
        "Found: the shortest paths, of at most {steps} relations, between {names}",
        "{entities}",
        names=(2, 2),
    ),
    Template(
        "relations_between",
        ("What is the relation between Valdora and Old Basin?",),
        (
            "(what|which) (is|are) the (relations?|relationships?|connections?|links?) (between|of) <names>",
            f"(is|are|was|were) (?P<names>.+ {_CONNECTED} (to|with) .+)",
            f"(is|are|was|were) <names> {_CONNECTED}( (to|with) each other)?",
        ),
        """
MATCH (a:Entity)-[r:RELATED]->(b:Entity)
WHERE a.entity_id IN [$first, $second] AND b.entity_id IN [$first, $second]
RETURN a.title AS source, r.relation AS relation, b.title AS target, r.strength AS strength
ORDER BY strength DESC, relation
LIMIT {most}""",
        "",
        "Found: relations between {names}",
        "{source} {relation} {target}",
        names=(2, 2),
    ),
    Template(
        "common_neighbours",
        ("Who is connected to both Morvane Tidal and Ketterick Shipyard?",),
        (f"{_WHICH} (is|are|was|were) {_CONNECTED} (to|with) both <names>",),
        """
MATCH (a:Entity)-[:RELATED]-(c:Entity)-[:RELATED]-(b:Entity)
WHERE a.entity_id = $first AND b.entity_id = $second{of_type}
RETURN DISTINCT c.title AS title, c.type AS type, c.degree AS neighbours
ORDER BY neighbours DESC, title
LIMIT {most}""",
        "",
        "Found: {what} connected with both {names}",
        "{title}",
        names=(2, 2),
    ),
    Template(
        "around",
        ("Which organizations are within 2 steps of Ludo Straker?",),
        (
            f"{_WHICH} (is|are|was|were|lies?) {_WITHIN} (of|from) <names>",
            f"(?P<types>(list )?(all )?(the )?neighbou?rs) of <names> {_WITHIN}",
            f"(?P<types>(list )?(all )?(the )?neighbou?rs) {_WITHIN} of <names>",
        ),
        """
MATCH p = shortestPath((a:Entity)-[:RELATED*1..{steps}]-(c:Entity))
WHERE a.entity_id = $first AND c.entity_id <> $first{of_type}
RETURN c.title AS title, c.type AS type, length(p) AS steps
ORDER BY steps, title
LIMIT {most}""",
        "",
        "Found: {what} at most {steps} relations from {names}",
        "{title}",
        most=100,
    ),
    Template(
        "connected",
        ("Who is connected to Ludo Straker?", "Which organizations are connected to Torquil Haddow?"),
        (
            f"{_WHICH} (is|are|was|were) {_CONNECTED} (to|with) <names>",
            f"{_WHICH} (is|are|was|were) <names> {_CONNECTED} (to|with)",
            "(?P<types>(list )?(all )?(the )?(neighbou?rs|connections)) of <names>",
        ),
        """
MATCH (a:Entity)-[r:RELATED]-(c:Entity)
WHERE a.entity_id = $first{of_type}
RETURN c.title AS title, c.type AS type, collect(DISTINCT r.relation) AS relations,
    sum(r.strength) AS strength
ORDER BY strength DESC, title
LIMIT {most}""",
        "",
        "Found: {what} connected with {names}",
        "{title}",
        most=100,
    ),
    Template(
        "relations_by_label",
        ("How many relations are there of each kind?",),
        (
            f"{_MANY}(relations|relationships|edges|labels) (are there )?"
            "(by|per|of each|for each) (label|kind|type|name)",
        ),
        """
MATCH (:Entity)-[r:RELATED]->(:Entity)
RETURN r.relation AS relation, count(*) AS relations
ORDER BY relations DESC, relation
LIMIT {most}""",
        "",
        "Counted: relations by label",
        "{relation}: {relations}",
        most=100,
    ),
    Template(
        "entities_by_type",
        ("How many entities are there of each type?",),
        (f"{_MANY}(entities|nodes) (are there )?(by|per|of each|for each) (type|kind)",),
        """
MATCH (c:Entity)
RETURN c.type AS type, count(*) AS entities
ORDER BY entities DESC, type
LIMIT {most}""",
        "",
        "Counted: entities by type",
        "{type}: {entities}",
        most=100,
    ),
    Template(
        "most_connected",
        ("Which 5 people are most connected?", "Top 10 organizations by degree"),
        (
            "(?P<types>who|(which|what) .+?) (is|are) (the )?most connected",
            "(?P<types>who|(which|what) .+?) (has|have) (the )?most "
            "(connections|neighbou?rs|relationships|links)",
            "((who|which|what) (is|are) )?(the )?(top )?(<n> )?most connected <types>",
            "((who|which|what) (is|are) )?(the )?top (<n> )?<types> by (number of )?"
            "(degree|connections|neighbou?rs|relationships|links)",
        ),
        """
MATCH (c:Entity)
WHERE c.degree > 0{of_type}
RETURN c.title AS title, c.type AS type, c.degree AS neighbours
ORDER BY neighbours DESC, title
LIMIT {most}""",
        "",
        "Ranked: {what} by number of neighbours",
        "{title}: {neighbours}",
        most=10,
    ),
    Template(
        "entities",
        ("How many people are there?",),
        ("(how many|number of|count of|count( the)?) <types>( are there| exist)?( in the graph)?",),
        """
MATCH (c:Entity)
WHERE c.degree >= 0{of_type}
RETURN count(*) AS entities
LIMIT {most}""",
        "",
        "Counted: {what}",
        "{entities}",
    ),
)
