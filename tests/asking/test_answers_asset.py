import json
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from graphrag_dagster import tables
from graphrag_dagster.cli.running import instance, run_job
from graphrag_dagster.core.errors import SettingsError
from graphrag_dagster.definitions import defs
from graphrag_dagster.resources.integrity import violations
from graphrag_dagster.resources.questions import questions_of
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.settings.evaluation import QuestionSettings
from support.commands import Run
from support.corpora import write_corpus

SETTINGS = """
questions:
  ask: ["Who led the Dockers Union?", "How do I bake bread?", "Who led the Dockers Union?"]
  file: questions.csv
  methods: [C1, SS, auto]
"""


def answer_all() -> dict[str, object]:
    with instance() as dagster_instance:
        result = defs.resolve_job_def("answer").execute_in_process(
            partition_key="coast", instance=dagster_instance
        )
        (made,) = result.asset_materializations_for_node("answers")[:1]
        return {name: value.value for name, value in made.metadata.items()}


def test_questions_are_answered_in_every_way_and_kept_while_nothing_changes(home: Path, run: Run) -> None:
    folder = write_corpus(home / "corpora", settings=SETTINGS)
    (folder / "questions.csv").write_text('id,question\n1,"Who met\nSelma Dray?"\n2,\n', encoding="utf-8")
    run_job("coast")
    warehouse = Warehouse()
    assert "questions.csv" not in warehouse.read(tables.DOCUMENTS, "coast")["path"].to_list()
    assert answer_all()["kept"] == 0
    made = warehouse.read(tables.ANSWERS, "coast")
    assert made.height == 9
    assert sorted(made["position"].unique()) == [0, 1, 2]
    assert made.filter(pl.col("question") == "How do I bake bread?")["refused"].all()
    assert made.filter(~pl.col("refused"))["unsupported"].sum() == 0
    with warehouse.reading("coast") as reader:
        for table in (tables.ANSWERS, tables.ANSWER_CONTEXTS, tables.ANSWER_CITATIONS):
            assert violations(reader, table) == []
    documents = dict(warehouse.read(tables.DOCUMENTS, "coast").select("document_id", "text").iter_rows())
    cited = warehouse.read(tables.ANSWER_CITATIONS, "coast")
    assert cited.height
    for row in cited.iter_rows(named=True):
        assert documents[row["document_id"]][row["start_char"] : row["end_char"]] == row["quotation"]

    code, out, _ = run("answer", "coast", "--json")
    assert code == 0
    counted = json.loads(out)["answers"]
    assert {row["method"]: row["answers"] for row in counted} == {"C1": 3, "SS": 3, "auto": 3}
    assert answer_all()["kept"] == 9
    assert warehouse.read(tables.ANSWERS, "coast").equals(made)
    (folder / "news" / "strike.md").unlink()
    run_job("coast")
    assert answer_all()["kept"] == 0
    assert "Quill" not in " ".join(warehouse.read(tables.ANSWER_CITATIONS, "coast")["quotation"])


def test_a_corpus_without_questions_has_empty_tables_and_the_command_says_so(coast: Path, run: Run) -> None:
    (coast / "corpus.yaml").write_text("questions: {write: never}", encoding="utf-8")
    code, _, err = run("answer", "coast")
    assert (code, "has no questions" in err) == (1, True)
    answer_all()
    assert Warehouse().read(tables.ANSWERS, "coast").is_empty()


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("../elsewhere.txt", None, "outside"),
        ("none.csv", None, "cannot be read"),
        ("q.csv", b"a,b\n1,2\n", "no column 'question'"),
        ("q.txt", b"\xff\xfe\xfa", "UTF-8"),
    ],
)
def test_a_list_that_cannot_be_read_names_the_file(
    tmp_path: Path, name: str, text: bytes | None, problem: str
) -> None:
    if text is not None:
        (tmp_path / name).write_bytes(text)
    with pytest.raises(SettingsError, match=problem):
        questions_of(tmp_path, QuestionSettings(file=name))


def test_checks_cover_the_answers() -> None:
    keys = {key.asset_key for key in defs.resolve_asset_graph().asset_check_keys}
    assert dg.AssetKey(["answers", "answer_citations"]) in keys
