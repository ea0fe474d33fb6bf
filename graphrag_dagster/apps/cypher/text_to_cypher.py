"""Questions in plain words as guarded Cypher queries: by templates, or written by a model.

They are forms of questions as those over the tables are, with Cypher in the place of SQL.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from graphrag_dagster.apps.cypher import tables as property_graph
from graphrag_dagster.apps.cypher.language.cypher_functions import FUNCTIONS
from graphrag_dagster.apps.cypher.property_graph import GraphQueryRun, QueryableGraph
from graphrag_dagster.errors import QueryError, QuestionError
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.questions.context.index_snapshot import MOST_ROWS, IndexSnapshot
from graphrag_dagster.kernel.tasks.answering_ports import FailedQuery, QueryWriter
from graphrag_dagster.systems.graphrag.search.sql.query_template import Template
from graphrag_dagster.systems.graphrag.search.sql.slot_values import Filled, Unfit
from graphrag_dagster.systems.graphrag.search.sql.template_matching import LONGEST, bare_question
from graphrag_dagster.systems.graphrag.search.sql.template_slots import fill

#: Tries after the first.
_MENDED = 2


@dataclass(frozen=True, slots=True)
class CypherAnswer:
    """What a question about the graph gives.

    Attributes:
        question: as asked.
        reading: how it was read.
        ran: the query, and its rows.
        template: that the query was made from; None where a model wrote it.
        guessed: names that were taken for longer ones.
        problems: queries that a model wrote and that could not be run, and why.
        usage: tokens that the model took.
    """

    question: str
    reading: str
    ran: GraphQueryRun
    template: str | None = None
    guessed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


def query_in_words(
    question: str, index: IndexSnapshot, graph: QueryableGraph, writer: QueryWriter | None = None
) -> CypherAnswer:
    """Answer a question by a query over the graph.

    Args:
        question: in plain words; templates know English.
        index: of the corpus, whose names and types are known.
        graph: runs the query.
        writer: writes the query, behind the guard; where what it writes cannot be run, and where it is None,
            a template makes it.

    Raises:
        QuestionError: the question has the form of no template, or its query cannot be run; says what can be
            asked.
        EndpointError: the model endpoint cannot be used.
    """
    problems: tuple[str, ...] = ()
    usage = Usage()
    if writer is not None:
        made = write_query(question, index, graph, writer)
        if isinstance(made, CypherAnswer):
            return made
        problems, usage = made
    plain = recognise(question, index)
    if isinstance(plain, str):
        examples = " · ".join(one.examples[0] for one in TEMPLATES)
        tried = "".join(f"\nthe model wrote a query that could not be run: {one}" for one in problems)
        raise QuestionError(f"{plain}; questions such as these can be asked: {examples}{tried}")
    ran = graph.run(plain.text, plain.parameters)
    return CypherAnswer(question, plain.reading, ran, plain.template, plain.guessed, problems, usage)


def write_query(
    question: str, index: IndexSnapshot, graph: QueryableGraph, writer: QueryWriter, within: str = ""
) -> CypherAnswer | tuple[tuple[str, ...], Usage]:
    """Return what a query that a model writes gives, mended up to two times.

    What is said of a query goes back to the model; what a query gives does not.

    Args:
        question: in plain words.
        index: of the corpus, whose types are told.
        graph: runs the query.
        writer: writes it.
        within: what is told of the part of the graph that the query has to stay in; blank: the whole.

    Returns:
        the answer, or where no query could be run, what was wrong, and what the model took.

    Raises:
        EndpointError: the model endpoint cannot be used.
    """
    types = "\n".join(sorted(index.entities["type"].unique()))
    functions = f"Functions: {', '.join(FUNCTIONS)}, and all, any, none and single"
    tables = "\n".join([*property_graph.schema_lines(), "", functions, *filter(None, [within])])
    failed: list[FailedQuery] = []
    problems: list[str] = []
    usage = Usage()
    while len(failed) <= _MENDED:
        one = writer.write(question, tables, types, failed)
        usage += one.usage
        if not one.text:
            problems.append(one.problem or "no query")
            break
        try:
            ran = graph.run(one.text, {})
        except QueryError as error:
            failed.append(FailedQuery(one.text, str(error)))
            problems.append(f"{' '.join(one.text.split())}: {' '.join(str(error).split())}")
            continue
        return CypherAnswer(question, one.reading, ran, problems=tuple(problems), usage=usage)
    return tuple(problems), usage


#: Relations of a path where the question does not say how many.
_STEPS = 3
_TO = re.compile(r" to ", re.IGNORECASE)
_NEIGHBOURS = ("neighbour", "neighbor", "connections", "list")


@dataclass(frozen=True, slots=True)
class PlainQuery:
    """A query of a template.

    Attributes:
        template: its name.
        reading: how the question was read.
        text: the query, in openCypher.
        parameters: values of its ``$names``.
        guessed: names that were taken for longer ones.
    """

    template: str
    reading: str
    text: str
    parameters: dict[str, Any]
    guessed: tuple[str, ...] = ()


def recognise(question: str, index: IndexSnapshot) -> PlainQuery | str:
    """Return the query that a question has the form of, else why there is none.

    Args:
        question: in English, in whatever capitals; anything else fits no template.
        index: of the corpus, whose names and types are known.
    """
    if len(question) > LONGEST:
        return f"a question of more than {LONGEST} characters has the form of no template"
    bare = bare_question(question)
    missed: list[Unfit] = []
    for template in TEMPLATES:
        for pattern in template.patterns:
            if found := pattern.fullmatch(bare):
                for said in _slot_words(found.groupdict()):
                    try:
                        return _query(template, fill(template, said, index))
                    except Unfit as reason:
                        missed.append(reason)
    best = max(missed, key=lambda one: one.weight, default=None)
    return str(best) if best else "the question has the form of no template"


def _slot_words(groups: dict[str, str | None]) -> Iterator[dict[str, str | None]]:
    """The words by slot; once more for each *to* that may stand between two names, as it may in one."""
    types, names = (groups.get("types") or "").lower(), groups.get("names") or ""
    # Neighbours are of whatever type.
    if any(one in types for one in _NEIGHBOURS):
        groups = groups | {"types": "entities"}
    yield groups
    for between in _TO.finditer(names):
        yield groups | {"names": f"{names[: between.start()]} and {names[between.end() :]}"}


def _query(template: Template, filled: Filled) -> PlainQuery:
    types = filled.parameters.get("types")
    pieces = {
        "steps": filled.words.get("steps", _STEPS),
        "most": min(filled.words.get("most", template.most), MOST_ROWS),
        "of_type": " AND c.type IN $types" if types else "",
    }
    parameters = {"types": types} if types else {}
    parameters |= dict(zip(("first", "second"), filled.parameters.get("entities", ()), strict=False))
    text = template.sql.strip().format(**pieces)
    reading = template.says.format(**{"what": "entities", **pieces, **filled.words})
    return PlainQuery(template.name, reading, text, parameters, filled.guessed)


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
