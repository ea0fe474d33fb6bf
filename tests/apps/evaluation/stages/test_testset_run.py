"""An evaluation on questions written from documents, with a way that reads none."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from graphrag_dagster.apps.evaluation.questions.answer_tables import (
    ANSWER_CITATIONS,
    ANSWER_CONTEXTS,
    ANSWERS,
)
from graphrag_dagster.apps.evaluation.questions.question_tables import (
    QUESTIONS,
    TESTSET_DOCUMENTS,
    TESTSET_QUESTIONS,
)
from graphrag_dagster.apps.evaluation.report.table_views import clean
from graphrag_dagster.apps.evaluation.tables import QUALITY_SCORES, QUALITY_VERDICTS
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache
from graphrag_dagster.kernel.pipeline.table_checks import violations
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.table_declaration import Table
from support.commands import Run
from support.conversations import asked_of
from support.endpoint import ScriptedEndpoint
from support.homes import copy_home
from support.scripted_references import KNOWN
from support.scripted_replies import name_pattern_script

SETTINGS = """
questions: {{methods: [C0, SS, own-context], engine: llm, testset: {{enabled: true, documents: 3, per_document: 2}}}}
search: {{engine: llm}}
evaluation: {{engine: llm, replicates: 1, criteria: [directness], reasons: 0}}
model: {{base_url: "{url}", name: scripted, retries: 1, tasks: {{testset: {{name: strong}}, judge: {{name: judge}}}}}}
"""
MADE = (
    TESTSET_DOCUMENTS,
    TESTSET_QUESTIONS,
    QUESTIONS,
    ANSWERS,
    ANSWER_CONTEXTS,
    ANSWER_CITATIONS,
    QUALITY_SCORES,
    QUALITY_VERDICTS,
)


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(models=("scripted", "judge", "strong")) as server:
        yield server


def read(table: Table) -> pl.DataFrame:
    return Warehouse().read(table, "coast")


def evaluated(run: Run, *arguments: str, code: int = 0) -> dict[str, Any]:
    ended, out, err = run("evaluate", "coast", "--yes", "--json", *arguments)
    assert ended == code, out + err
    told: dict[str, Any] = json.loads(out)
    return told


@pytest.mark.long
def test_answers_are_measured_against_what_single_documents_say(
    coast: Path, endpoint: ScriptedEndpoint, run: Run
) -> None:
    (coast / "corpus.yaml").write_text(SETTINGS.format(url=endpoint.url), encoding="utf-8")
    stages = {one["stage"]: one for one in evaluated(run, "--plan")["stages"]}
    assert not endpoint.requests
    assert stages["testset"]["calls"]["low"] == 3
    assert stages["testset"]["model"] == "strong"
    assert stages["answers own-context"]["calls"] == {"low": 12, "expected": 12, "high": 12}
    assert stages["quality"]["calls"]["low"] == 3 * 6 * 6

    told = evaluated(run)
    assert told["missing"] == []
    documents, written = read(TESTSET_DOCUMENTS), read(TESTSET_QUESTIONS)
    assert documents.select("wanted", "written", "rejected").rows() == [(2, 2, 0)] * 3
    texts = dict(read(tables.DOCUMENTS).select("document_id", "text").iter_rows())
    for row in written.iter_rows(named=True):
        assert texts[row["document_id"]][row["start_char"] : row["end_char"]] == row["evidence"]
    questions = read(QUESTIONS)
    assert set(questions["origin"]) == {"testset"}
    assert questions["reference"].null_count() == 0
    assert set(questions["question_id"]) == set(written["question_id"])
    asked = [one.body["model"] for one in endpoint.chats if asked_of(one.body).task == "write_testset"]
    assert asked == ["strong"] * 3
    with Warehouse().reading("coast") as reader:
        for table in MADE:
            assert violations(reader, table) == [], table.full_name
    booked = LLMCache().usage_log().table("coast")
    assert booked.filter(pl.col("task") == "write_testset")["calls"].sum() == 3

    paid, before = len(endpoint.requests), {table: read(table) for table in MADE}
    evaluated(run)
    assert len(endpoint.requests) == paid
    assert all(read(table).equals(frame) for table, frame in before.items())
    the_model_s_own_words_are_the_context()
    the_report_tells_it(Path(told["report"]))


def the_model_s_own_words_are_the_context() -> None:
    own = read(ANSWERS).filter(pl.col("method") == "own-context")
    assert own.height == 6
    contexts = read(ANSWER_CONTEXTS).filter(pl.col("answer_id").is_in(own["answer_id"].implode()))
    assert contexts.select("kind", "text").unique().rows() == [("own_context", KNOWN)]
    assert read(ANSWER_CONTEXTS)["text"].is_not_null().sum() == 6
    verdicts = read(QUALITY_VERDICTS).filter(pl.col("metric") == "contextual_precision")
    of_own = verdicts.filter(pl.col("answer_id").is_in(own["answer_id"].implode()))
    assert of_own["statement"].unique().to_list() == [KNOWN]
    scores = read(QUALITY_SCORES).filter(pl.col("family") == "deepeval")
    assert scores.group_by("metric").len().sort("metric")["len"].to_list() == [18] * 4
    faithful = scores.filter(
        (pl.col("metric") == "faithfulness") & pl.col("answer_id").is_in(own["answer_id"].implode())
    )
    assert faithful["value"].null_count() == 0


def the_report_tells_it(page: Path) -> None:
    text = clean(page.read_text(encoding="utf-8"))
    assert "6 written from single documents, with reference answers" in text
    assert "Questions of single documents" in text
    assert "own-context writes its own context: its faithfulness is to what the model wrote itself" in text
    head, _, rest = text.partition("Features of each search method")
    assert head
    table = rest.partition("</table>")[0]
    assert [one in table for one in ("community reports", "text units", "own context", "validator")] == [
        *(True, True, True, False)
    ]
    assert (page.parent / "quality_deepeval.png").read_bytes()[:4] == b"\x89PNG"
    assert "Answer relevancy, faithfulness, contextual recall and contextual precision (deepeval)" in text


@pytest.mark.long
def test_coterag_is_compared_with_itself_without_a_part_and_with_no_documents(
    coterag_home: Path, home: Path, endpoint: ScriptedEndpoint, run: Run
) -> None:
    copy_home(coterag_home, home)
    methods = ["coterag", "coterag-no-communities", "coterag-no-fallback", "own-context"]
    settings = SETTINGS.format(url=endpoint.url).replace("[C0, SS, own-context]", f"[{', '.join(methods)}]")
    (home / "corpora" / "coast" / "corpus.yaml").write_text(
        settings.replace("{engine: llm, replicates", "{engine: llm, baseline: coterag, replicates")
        + "coterag: {profile: calibrated, engine: llm}\n",
        encoding="utf-8",
    )
    page = clean(Path(evaluated(run)["report"]).read_text(encoding="utf-8"))
    scores = read(QUALITY_SCORES).join(read(ANSWERS).select("answer_id", "method"), on="answer_id")
    found = scores.filter(pl.col("value").is_not_null() & (pl.col("family") == "deepeval"))
    assert set(found.select("method", "metric").unique()["method"]) == set(methods)
    assert found.filter(metric="contextual_precision")["method"].n_unique() == 4
    table = page.partition("Features of each search method")[2].partition("</table>")[0]
    head, *rows = [re.sub(r"<[^>]*>", "|", one) for one in table.split("<tr>")[1:]]
    names = [one.strip() for one in head.split("|") if one.strip()][1:]
    told = {}
    for row in rows:
        way, *cells = [one.strip() for one in row.split("|") if one.strip()]
        told[way] = {name for name, cell in zip(names, cells, strict=True) if cell == "yes"}
    whole = {
        "route",
        "communities",
        "term coverage",
        "traversal",
        "text units",
        "preserved store",
        "validator",
    }
    assert told == {
        "coterag": whole,
        "coterag-no-communities": whole - {"communities", "term coverage", "preserved store"},
        "coterag-no-fallback": whole - {"preserved store"},
        "own-context": {"own context"},
    }


@pytest.mark.long
def test_the_experiment_of_the_third_paper_runs_by_its_one_key(
    coast: Path, endpoint: ScriptedEndpoint, run: Run
) -> None:
    # Its two models for extraction are an extra, and weights.
    (coast / "corpus.yaml").write_text(
        f"profile: paper_003\nmodel: {{base_url: '{endpoint.url}', name: scripted, retries: 1}}\n"
        "extraction: {engine: extractive}\nevaluation: {replicates: 1, criteria: [directness], reasons: 0}\n",
        encoding="utf-8",
    )
    ended, out, err = run("index", "coast")
    assert ended == 0, out + err
    assert "coterag.profile is paper_raw, whose thresholds were set for nomic-embed-text-v1.5" in out + err
    assert read(tables.TEXT_CHUNKS)["text"].str.len_chars().max() <= 200
    evaluated(run)
    documents = read(TESTSET_DOCUMENTS)
    assert (documents.height, documents["wanted"].unique().to_list()) == (4, [3])
    scores = read(QUALITY_SCORES).join(read(ANSWERS).select("answer_id", "method"), on="answer_id")
    measured = scores.filter(family="deepeval").select("method", "metric").unique()
    assert measured.group_by("method").len().sort("method").rows() == [
        ("coterag", 4),
        ("coterag-no-communities", 4),
        ("own-context", 4),
    ]
    asked = {str(one.body.get("temperature")) for one in endpoint.chats if "scientific text" in str(one.body)}
    assert asked == {"0.6"}


def test_a_document_without_a_usable_reply_is_told_and_the_others_are_asked_about(
    coast: Path, endpoint: ScriptedEndpoint, run: Run
) -> None:
    def script(body: dict[str, Any]) -> Any:
        lost = asked_of(body).task == "write_testset" and "Piet Lund" in str(body)
        return "I would rather not." if lost else name_pattern_script(body)

    endpoint.script = script
    settings = SETTINGS.format(url=endpoint.url).replace("[C0, SS, own-context]", "[SS]")
    (coast / "corpus.yaml").write_text(
        settings.replace("documents: 3", "documents: 9") + "\ndescription: Of a coast.\n", encoding="utf-8"
    )
    ended, out, err = run("answer", "coast", "--yes", "--json")
    assert ended == 3, out + err
    assert json.loads(out)["missing"] == [
        "2 questions of the testset could not be written: see questions.testset_documents"
    ]
    documents = read(TESTSET_DOCUMENTS)
    assert documents.height == 4
    (lost,) = documents.filter(pl.col("written") == 0).iter_rows(named=True)
    assert "no JSON" in lost["problem"]
    assert read(ANSWERS).height == 6
    # Another seed, another sample; what is written from the same documents is cached.
    (coast / "corpus.yaml").write_text(
        settings.replace("documents: 3", "documents: 2, seed: 1").replace("methods", "write: never, methods"),
        encoding="utf-8",
    )
    endpoint.script = name_pattern_script
    assert run("answer", "coast", "--yes", "--json")[0] == 0
    assert read(TESTSET_DOCUMENTS).height == 2


@pytest.mark.parametrize(
    ("settings", "mend"),
    [
        ("questions: {methods: [SS, own-context]}", "questions.methods: own-context needs a model"),
        ("search: {method: own-context}", "search.method: own-context needs a model"),
        ("questions: {testset: {enabled: true}}", "set questions.engine: llm"),
        ("questions: {testset: {per_document: 0}}", "per_document"),
    ],
)
def test_what_only_a_model_can_do_is_refused_without_one(
    coast: Path, run: Run, settings: str, mend: str
) -> None:
    (coast / "corpus.yaml").write_text(settings, encoding="utf-8")
    code, out, err = run("evaluate", "coast", "--yes")
    assert code == 1
    assert mend in " ".join((out + err).split())
