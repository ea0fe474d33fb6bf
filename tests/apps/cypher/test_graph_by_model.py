"""The way ``graph`` with a model: its route, its query behind the guard, what goes wrong with both."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from graphrag_dagster import Index
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache
from graphrag_dagster.kernel.questions.context.answer import Answer
from support.endpoint import ScriptedEndpoint, name_pattern_script
from support.homes import copy_home
from support.modelled import write_modelled
from support.traces import column, fact, section_told

FACT, BROAD = "Who led the Dockers Union?", "What are the main themes?"
GOOD = (
    "MATCH (a:Entity)-[r:RELATED]-(b:Entity) WHERE toLower(a.title) CONTAINS 'dockers' "
    "RETURN a.title AS dockers, r.relation AS relation, b.title AS other ORDER BY other LIMIT 20"
)


class Model:
    """Gives routes and queries as it is told, one after the other; notes the prompts of answers."""

    def __init__(self) -> None:
        self.routes: list[str] = []
        self.queries: list[str] = []
        self.asked: dict[str, list[str]] = {"route": [], "query": [], "answer": []}

    def __call__(self, body: dict[str, Any]) -> Any:
        system, user = (body["messages"][place]["content"] for place in (0, -1))
        if system.startswith("You choose what to look up in a knowledge graph"):
            self.asked["route"].append(system)
            return self.routes.pop(0)
        if "query in openCypher" in system:
            self.asked["query"].append(f"{system}\n{user}")
            return json.dumps({"reading": "Who is with the dockers", "cypher": self.queries.pop(0)})
        self.asked["answer"].append(f"{system}\n{user}")
        return name_pattern_script(body)

    def will_go(self, route: str) -> None:
        self.routes.append(json.dumps({"reason": "So I was told.", "route": route}))


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def endpoint(model: Model) -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(model) as server:
        yield server


@pytest.fixture
def opened(modelled_home: Path, home: Path, endpoint: ScriptedEndpoint) -> Callable[[str], Index]:
    """Opens the corpus that a model indexed, with a section search."""
    copy_home(modelled_home, home)

    def opened(search: str) -> Index:
        write_modelled(home / "corpora", endpoint, f"search: {search}\n")
        return Index.open("coast")

    return opened


ROUTED = "{routing: model, graph: {queries: templates}}"


def told(answer: Answer) -> tuple[str, str]:
    return fact(answer, "Route through the graph", "route"), fact(
        answer, "Route through the graph", "chosen by"
    )


def test_a_model_chooses_the_route_and_its_reason_is_told(
    opened: Callable[[str], Index], model: Model
) -> None:
    model.will_go(" Hybrid ")
    answer = opened(ROUTED).ask(FACT, method="graph")
    assert told(answer) == ("hybrid", "model")
    assert (answer.why or "").startswith("hybrid: So I was told (chosen by a model)")
    first, *_ = answer.steps
    assert (first.task, first.about, first.used) == ("route", "hybrid", True)
    (system,) = model.asked["route"]
    assert all(f'- "{route}": ' in system for route in ("local", "global", "hybrid"))
    booked = LLMCache().usage_log().table("coast").filter(pl.col("task") == "graph_route")
    assert booked["calls"].sum() == 1


def test_only_what_there_is_something_for_may_be_chosen(opened: Callable[[str], Index], model: Model) -> None:
    model.will_go("global")
    answer = opened(ROUTED).ask(BROAD, method="graph")
    assert told(answer) == ("global", "model")
    assert '- "local": ' not in model.asked["route"][0]


@pytest.mark.long
@pytest.mark.parametrize(
    "nonsense", ["I cannot choose.", '{"reason": "x", "rou', '{"reason": "x", "route": "auto"}', "[]"]
)
def test_where_all_replies_are_nonsense_both_are_looked_up_and_the_answer_says_so(
    opened: Callable[[str], Index], model: Model, nonsense: str
) -> None:
    model.routes += [nonsense] * 3
    answer = opened(ROUTED).ask(FACT, method="graph")
    assert told(answer) == ("hybrid", "rules")
    (problem,) = answer.problems
    assert problem.startswith("route: ")
    assert (answer.steps[0].about, answer.steps[0].used) == ("no route", False)
    assert any(use.used for use in answer.context)


def test_a_model_writes_the_query_and_its_rows_are_shown(
    opened: Callable[[str], Index], model: Model
) -> None:
    model.queries.append(GOOD)
    answer = opened("{}").ask(FACT, method="graph")
    queries = section_told(answer, "Queries")
    (row,) = queries.rows
    query = dict(zip(queries.columns, row, strict=True))
    assert (query["made by"], query["query"], query["over"]) == ("the model", GOOD, "property graph")
    assert query["rows"] > 0
    assert {use.title for use in answer.context if use.kind == "entity"} >= {"Dockers Union", "Hanna Quill"}
    prompt = model.asked["answer"][-1]
    assert "-----Result of a query over the graph, which is no source" in prompt
    assert "dockers|relation|other" in prompt
    assert "a query that the model wrote over the property graph" in (answer.why or "")
    assert answer.usage.calls == 2


def test_what_is_wrong_with_a_query_goes_back_twice(opened: Callable[[str], Index], model: Model) -> None:
    model.queries += ["MATCH (n) DETACH DELETE n", "MATCH (e:Ship) RETURN e", GOOD]
    answer = opened("{}").ask(FACT, method="graph")
    assert column(answer, "Queries", "query") == [GOOD]
    assert len(answer.problems) == 2
    assert "it can only read" in model.asked["query"][1]
    assert "Ship does not exist" in model.asked["query"][2]


@pytest.mark.parametrize(
    "queries",
    [["CREATE (n)"] * 3, [""], ["MATCH (e:Entity) WHERE e.title = 'nobody' RETURN e.title AS title"]],
)
def test_where_no_query_gives_anything_templates_do(
    opened: Callable[[str], Index], model: Model, queries: list[str]
) -> None:
    model.queries += queries
    answer = opened("{}").ask(FACT, method="graph")
    assert column(answer, "Queries", "made by")[-1] == "template around"
    assert any(use.kind == "relationship" for use in answer.context)
    assert not model.queries


def test_a_broad_question_tells_the_model_its_communities_and_no_words_of_documents(
    opened: Callable[[str], Index], model: Model
) -> None:
    model.queries.append(GOOD)
    index = opened("{}")
    answer = index.ask("What are the main events around the Dockers Union?", method="graph")
    assert told(answer) == ("hybrid", "rules")
    (prompt,) = model.asked["query"]
    communities = section_told(answer, "Communities")
    assert all(one in prompt for one in communities.ids("community"))
    system, _, _ = prompt.partition("The types of entities")
    assert not any(one in system for one in communities.column("community"))


def test_what_a_question_says_is_no_instruction_to_the_graph(
    opened: Callable[[str], Index], model: Model
) -> None:
    model.queries += ["MATCH (a) WHERE a.title = '" + "x" * 5000 + "' RETURN a"] * 3
    answer = opened("{}").ask("Hanna Quill'}) DETACH DELETE n //", method="graph")
    assert len(answer.problems) == 3
    assert set(column(answer, "Queries", "over")) == {"property graph"}
