"""Questions as WebQSP, CWQ, GrailQA and WebQuestions have them, and the graphs that some come with."""

import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.lego.studies.question_files import GoldQuestion, questions_in
from graphrag_dagster.systems.lego.tables import PATH_QUESTIONS, PATH_SUMMARY
from support.commands import Run

WITH_SUBGRAPH = {
    "id": "WebQTest-1",
    "question": "who directed alien",
    "answer": ["Ridley Scott"],
    "q_entity": ["Alien"],
    "a_entity": ["Ridley Scott"],
    "graph": [
        ["Alien", "film.film.directed_by", "Ridley Scott"],
        ["Ridley Scott", "film.director.film", "Alien"],
        ["Alien", "film.film.genre", "Horror"],
    ],
    "choices": [],
}
SECOND = {
    **WITH_SUBGRAPH,
    "id": "WebQTest-2",
    "question": "where was ridley scott born",
    "answer": ["South Shields"],
    "q_entity": ["Ridley Scott"],
    "a_entity": ["South Shields"],
    "graph": [
        ["Ridley Scott", "people.person.place_of_birth", "South Shields"],
        ["Alien", "film.film.directed_by", "Ridley Scott"],
    ],
}
WEBQSP = {
    "Questions": [
        {
            "QuestionId": "WebQTest-1",
            "RawQuestion": "who directed Alien?",
            "Parses": [
                {
                    "TopicEntityName": "Alien",
                    "TopicEntityMid": "m.01",
                    "InferentialChain": ["film.film.directed_by"],
                    "Answers": [
                        {"AnswerType": "Entity", "AnswerArgument": "m.02", "EntityName": "Ridley Scott"},
                        {"AnswerType": "Value", "AnswerArgument": "1979", "EntityName": None},
                    ],
                }
            ],
        }
    ]
}
CWQ = [
    {
        "ID": "x",
        "question": "Which films has the director of Alien made?",
        "sparql": "SELECT ?x WHERE { ns:m.01 ns:film.film.directed_by ?d . ?d ns:film.director.film ?x . "
        "?x ns:type.object.name ?n }",
        "answers": [{"answer_id": "m.03", "answer": "Gladiator", "aliases": []}, {"answer_id": "m.04"}],
    }
]
GRAILQA = [
    {
        "qid": 1,
        "question": "what did the director of alien direct?",
        "answer": [{"answer_type": "Entity", "answer_argument": "m.03", "entity_name": "Gladiator"}],
        "s_expression": "(JOIN ...)",
        "graph_query": {
            "nodes": [
                {"nid": 0, "node_type": "class", "id": "film.film", "friendly_name": "Film"},
                {"nid": 1, "node_type": "entity", "id": "m.01", "friendly_name": "Alien"},
            ],
            "edges": [
                {"start": 0, "end": 2, "relation": "film.film.directed_by"},
                {"start": 1, "end": 2, "relation": "film.film.directed_by"},
            ],
        },
    }
]
WEBQUESTIONS = [
    {
        "url": "http://www.freebase.com/view/en/ridley_scott",
        "targetValue": '(list (description "South Shields") (description 1937) (description "The \\"Ridge\\""))',
        "utterance": "where was ridley scott born?",
    }
]


def read(name: str, content: Any) -> list[GoldQuestion]:
    return questions_in([(name, content if isinstance(content, bytes) else json.dumps(content).encode())])


def as_parquet(*rows: dict[str, Any]) -> bytes:
    told = io.BytesIO()
    pl.DataFrame([{name: one[name] for name in one if name != "choices"} for one in rows]).write_parquet(told)
    return told.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "wanted"),
    [
        ("WebQSP.json", WEBQSP, ("who directed Alien?", ("Alien",), ("Ridley Scott", "1979"), 1, "film")),
        (
            "cwq.json",
            CWQ,
            ("Which films has the director of Alien made?", ("m.01",), ("Gladiator", "m.04"), None, "film"),
        ),
        (
            "grailqa.json",
            GRAILQA,
            ("what did the director of alien direct?", ("Alien",), ("Gladiator",), 2, "film"),
        ),
        (
            "webquestions.json",
            WEBQUESTIONS,
            (
                "where was ridley scott born?",
                ("ridley scott",),
                ("South Shields", "1937", 'The "Ridge"'),
                None,
                None,
            ),
        ),
        (
            "rog.json",
            [SECOND],
            ("where was ridley scott born", ("Ridley Scott",), ("South Shields",), None, "people"),
        ),
    ],
)
def test_each_benchmark_is_read_in_its_own_form(name: str, content: Any, wanted: tuple[Any, ...]) -> None:
    (found,) = read(name, content)
    assert (found.text, found.entities, found.answers, found.hops, found.domain) == wanted
    assert found.problem is None


def test_rows_with_a_subgraph_are_the_same_in_every_file() -> None:
    lines = "\n".join(map(json.dumps, (WITH_SUBGRAPH, SECOND))).encode()
    read_as = [
        read(name, content)
        for name, content in (
            ("q.json", [WITH_SUBGRAPH, SECOND]),
            ("q.jsonl", lines),
            ("q.parquet", as_parquet(WITH_SUBGRAPH, SECOND)),
        )
    ]
    told = [[(one.text, one.entities, one.answers, one.row, one.domain) for one in some] for some in read_as]
    assert told[0] == told[1] == told[2]
    assert [domain for *_, domain in told[0]] == ["film", "people"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("q.json", b"[1", "q.json, it is no JSON"),
        ("q.json", [1], "row 1 is no JSON object"),
        ("q.json", [{"id": 1}], "row 1 has no question"),
        ("q.parquet", b"PAR", "q.parquet, it is no Parquet table"),
        ("q.docx", b"", "paths.questions takes .jsonl, .json, .csv, .tsv, .txt, .parquet"),
    ],
)
def test_what_cannot_be_read_is_told(name: str, content: Any, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read(name, content)
    assert said in str(caught.value)


def test_a_release_becomes_a_graph_that_its_questions_are_asked_of(home: Path, run: Run) -> None:
    folder = home / "corpora" / "rog"
    folder.mkdir(parents=True)
    (folder / "test.parquet").write_bytes(as_parquet(WITH_SUBGRAPH, SECOND))
    graph = folder / "graph.jsonl"
    ended, out, err = run("import", str(folder / "test.parquet"), "--out", str(graph))
    assert ended == 0, out + err
    assert "4 triples of 2 questions" in out
    ended, _, err = run("import", str(folder / "test.parquet"), "--out", str(graph))
    assert ended != 0
    assert "exists" in err

    (folder / "corpus.yaml").write_text(
        "kind: graph\nprofile: paper_002\n"
        "paths: {questions: [test.parquet], scorer: static, instances: ['12'], engine: extractive}\n"
    )
    for command in ("index", "paths"):
        ended, out, err = run(command, "rog")
        assert ended == 0, out + err
    asked = Warehouse().read(PATH_QUESTIONS, "rog").sort("position")
    assert asked["domain"].to_list() == ["film", "people"]
    assert asked["linked_by"].to_list() == ["label", "label"]
    recall = Warehouse().read(PATH_SUMMARY, "rog").filter(hops="all", measure="subgraph_recall")
    assert recall["mean"].to_list() == [1.0]
