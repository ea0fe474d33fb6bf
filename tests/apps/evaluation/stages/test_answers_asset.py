import json
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from graphrag_dagster import Filters
from graphrag_dagster.apps.evaluation.questions.answer_tables import (
    ANSWER_CITATIONS,
    ANSWER_CONTEXTS,
    ANSWER_STATEMENTS,
    ANSWERS,
)
from graphrag_dagster.apps.evaluation.questions.question_list import questions_of
from graphrag_dagster.apps.evaluation.settings import QuestionSettings
from graphrag_dagster.apps.evaluation.stages.answer_stage import ListFilters
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.component import compose
from graphrag_dagster.errors import QuestionError, SettingsError
from graphrag_dagster.kernel.pipeline.table_checks import violations
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.resources.dagster_instance import instance
from support.commands import Run

SETTINGS = """
questions:
  ask: ["Who led the Dockers Union?", "How do I bake bread?", "Who led the Dockers Union?"]
  file: questions.csv
  methods: [C1, SS, auto]
"""


def answer_all() -> dict[str, object]:
    with instance() as dagster_instance:
        result = (
            compose(research=True)
            .resolve_job_def("answer")
            .execute_in_process(partition_key="coast", instance=dagster_instance)
        )
        (made,) = result.asset_materializations_for_node("answers")[:1]
        return {name: value.value for name, value in made.metadata.items()}


@pytest.mark.long
def test_questions_are_answered_in_every_way_and_kept_while_nothing_changes(coast: Path, run: Run) -> None:
    (coast / "corpus.yaml").write_text(SETTINGS, encoding="utf-8")
    (coast / "questions.csv").write_text('id,question\n1,"Who met\nSelma Dray?"\n2,\n', encoding="utf-8")
    warehouse = Warehouse()
    assert answer_all()["kept"] == 0
    made = warehouse.read(ANSWERS, "coast")
    assert made.height == 9
    assert sorted(made["position"].unique()) == [0, 1, 2]
    assert made.filter(pl.col("question") == "How do I bake bread?")["refused"].all()
    assert made.filter(~pl.col("refused"))["unsupported"].sum() == 0
    with warehouse.reading("coast") as reader:
        for table in (
            ANSWERS,
            ANSWER_CONTEXTS,
            ANSWER_CITATIONS,
            ANSWER_STATEMENTS,
        ):
            assert violations(reader, table) == []
    said = warehouse.read(ANSWER_STATEMENTS, "coast")
    assert said.height == made["statements"].sum() > 0
    assert set(said["verdict"]) == {"supported"}
    assert said["citations"].list.len().min() == 1
    documents = dict(warehouse.read(tables.DOCUMENTS, "coast").select("document_id", "text").iter_rows())
    cited = warehouse.read(ANSWER_CITATIONS, "coast")
    assert cited.height
    for row in cited.iter_rows(named=True):
        assert documents[row["document_id"]][row["start_char"] : row["end_char"]] == row["quotation"]

    code, out, _ = run("answer", "coast", "--json")
    assert code == 0
    counted = json.loads(out)["answers"]
    assert {row["method"]: row["answers"] for row in counted} == {"C1": 3, "SS": 3, "auto": 3}
    assert answer_all()["kept"] == 9
    assert warehouse.read(ANSWERS, "coast").equals(made)
    (coast / "news" / "strike.md").unlink()
    run_job("coast")
    assert "questions.csv" not in warehouse.read(tables.DOCUMENTS, "coast")["path"].to_list()
    assert answer_all()["kept"] == 0
    assert "Quill" not in " ".join(warehouse.read(ANSWER_CITATIONS, "coast")["quotation"])


def test_a_corpus_without_questions_has_empty_tables_and_the_command_says_so(coast: Path, run: Run) -> None:
    (coast / "corpus.yaml").write_text("questions: {write: never}", encoding="utf-8")
    code, _, err = run("answer", "coast")
    assert (code, "has no questions" in err) == (1, True)
    answer_all()
    assert Warehouse().read(ANSWERS, "coast").is_empty()


def test_a_list_is_answered_from_the_documents_that_are_meant(coast: Path, run: Run) -> None:
    settings = "questions: {ask: [Who led the Dockers Union?], methods: [SS, auto]}"
    (coast / "corpus.yaml").write_text(settings, encoding="utf-8")
    warehouse = Warehouse()
    code, _, err = run("answer", "coast", "--document", "nowhere.md")
    assert (code, "nowhere.md" in err) == (1, True)

    assert run("answer", "coast", "--document", "news/strike.md")[0] == 0
    inside = warehouse.read(ANSWERS, "coast")
    assert set(inside["filters"]) == {'{"documents": ["news/strike.md"]}'}
    assert all("restricted to 1 of " in why for why in inside["why"])
    cited = warehouse.read(ANSWER_CITATIONS, "coast")
    paths = dict(warehouse.read(tables.DOCUMENTS, "coast").select("document_id", "path").iter_rows())
    assert {paths[one] for one in cited["document_id"]} == {"news/strike.md"}

    assert answer_all()["kept"] == 0
    whole = warehouse.read(ANSWERS, "coast")
    assert whole["answer_id"].to_list() == inside["answer_id"].to_list()
    assert whole["filters"].null_count() == len(whole)
    assert set(whole["options"]).isdisjoint(inside["options"])


def test_a_filter_that_there_is_not_is_an_error_of_the_run() -> None:
    with pytest.raises(QuestionError, match="folder"):
        _ = ListFilters(given={"folder": ["news"]}).filters
    assert ListFilters(given={"folders": ["news"]}).filters == Filters(folders=("news",))


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("none.csv", None, "cannot be read: No such file"),
        ("q.csv", b"a,b\n1,2\n", "no column 'question'"),
        ("q.csv", b"", "is empty; its first row must name a column 'question'"),
        ("q.csv", b'question\n"Who', "is not a valid CSV: unexpected end of data"),
        ("q.txt", b"\xff\xfe\xfa", "UTF-8"),
        ("q.txt", b"Who?\n\x1b[2J or what?", "question 2: the question holds control characters"),
        ("q.csv", b"question\n" + b"x" * 5000, "question 1: the question has 5,000 characters"),
        (".", None, "not a regular file"),
    ],
)
def test_a_list_that_cannot_be_read_names_the_file(
    tmp_path: Path, name: str, text: bytes | None, problem: str
) -> None:
    if text is not None:
        (tmp_path / name).write_bytes(text)
    with pytest.raises(SettingsError, match=problem):
        questions_of(tmp_path, QuestionSettings.model_construct(file=name, ask=[]))


def test_a_list_outside_of_the_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("Who?")
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "q.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(SettingsError, match="outside"):
        questions_of(folder, QuestionSettings(file="q.txt"))
    (folder / "q.txt").unlink()
    (folder / "q.txt").symlink_to(folder / "q.txt")
    with pytest.raises(SettingsError, match="cannot be read"):
        questions_of(folder, QuestionSettings(file="q.txt"))


def test_the_right_answer_may_stand_in_the_first_column(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("reference,question\nHanna,Who led?\n,Why?\nshort\n", encoding="utf-8")
    (first, second) = questions_of(tmp_path, QuestionSettings(file="./q.csv"))
    assert (first.text, first.reference, second.reference) == ("Who led?", "Hanna", None)


def test_checks_cover_the_answers() -> None:
    keys = {key.asset_key for key in compose(research=True).resolve_asset_graph().asset_check_keys}
    assert dg.AssetKey(["evaluation", "answer_citations"]) in keys
