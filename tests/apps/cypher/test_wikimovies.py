"""WikiMovies: 133,582 triples, and questions whose answers are known."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from graphrag_dagster.apps.cypher.property_graph import CorpusGraph
from graphrag_dagster.apps.cypher.settings import CypherSettings
from graphrag_dagster.apps.cypher.text_to_cypher import query_in_words
from graphrag_dagster.kernel.questions.snapshot_opening import open_snapshot
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from support.shared import DATA
from support.triple_graphs import publish_triples

FOLDER = DATA / "metaqa"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the real data sets are not here")

#: A form of questions, and the query that answers it.
FORMS = (
    (
        "1-hop",
        r"(?:what|which) (?:films|movies) did \[(.*)\] direct",
        "MATCH (x:Entity {title: $x})<-[:RELATED {relation: 'directed_by'}]-(y) RETURN DISTINCT y.title AS t",
    ),
    (
        "1-hop",
        r"(?:what|which) (?:films|movies) (?:did|does) \[(.*)\] (?:act|star|appear) in",
        "MATCH (x:Entity {title: $x})<-[:RELATED {relation: 'starred_actors'}]-(y) RETURN DISTINCT y.title AS t",
    ),
    (
        "2-hop",
        r"the films acted by \[(.*)\] were released in which years",
        "MATCH (x:Entity {title: $x})<-[:RELATED {relation: 'starred_actors'}]-(f:Entity)"
        "-[:RELATED {relation: 'release_year'}]->(y) RETURN DISTINCT y.title AS t",
    ),
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> CorpusGraph:
    warehouse = Warehouse(path=str(tmp_path_factory.mktemp("movies") / "{corpus}.duckdb"))
    triples = (
        tuple(line.split("|")) for line in (FOLDER / "kb.txt").read_text(encoding="utf-8").splitlines()
    )
    publish_triples(warehouse, "movies", ((one[0], one[1], one[2]) for one in triples))
    return CorpusGraph(warehouse, "movies", CypherSettings(seconds=60))


def _asked(hops: str, form: str) -> Iterator[tuple[str, set[str]]]:
    for line in (FOLDER / hops / "qa_dev.txt").read_text(encoding="utf-8").splitlines():
        question, answers = line.split("\t")
        if found := re.fullmatch(form, question):
            yield found[1], set(answers.split("|"))


@pytest.mark.long
@pytest.mark.parametrize(("hops", "form", "query"), FORMS)
def test_known_answers(graph: CorpusGraph, hops: str, form: str, query: str) -> None:
    asked = list(islice(_asked(hops, form), 10))
    assert asked
    for name, answers in asked:
        found = {str(row[0]) for row in graph.run(query, {"x": name}).found.rows}
        # Who asks what years follow from a film does not get the film's own again.
        assert found - {name} == answers


def test_the_counts_are_those_of_the_file(graph: CorpusGraph) -> None:
    lines = (FOLDER / "kb.txt").read_text(encoding="utf-8").splitlines()
    kept = {line for line in lines if len({line.split("|")[0], line.split("|")[2]}) == 2}
    assert graph.run("MATCH ()-[r:RELATED]->() RETURN count(*) AS n", {}).found.rows == ((len(kept),),)


def test_templates_answer_over_it(graph: CorpusGraph, tmp_path: Path) -> None:
    index = open_snapshot(graph.warehouse, "movies")
    near = query_in_words("What is connected to Ginger Rogers?", index, graph).ran.found
    assert {"Top Hat", "Kitty Foyle"} <= {row[0] for row in near.rows}
    hops = query_in_words("How is Ginger Rogers connected to Fred Astaire?", index, graph).ran.found
    assert hops.rows
    assert {row[2] for row in hops.rows} == {2}
    top = query_in_words("top 3 entities by degree", index, graph).ran.found
    assert len(top.rows) == 3
    assert top.rows[0][2] > 1_000
