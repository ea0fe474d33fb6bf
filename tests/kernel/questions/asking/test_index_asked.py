import json
import re
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import polars as pl
import pytest

from graphrag_dagster import Filters, Index
from graphrag_dagster.errors import CorpusError, QuestionError, VectorLengthError, WarehouseError
from graphrag_dagster.kernel.catalogue.registry import methods
from graphrag_dagster.kernel.models.cache.cache_schema import CacheFileError
from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.retrieval.entity_linking import SURE
from graphrag_dagster.kernel.storage.published.derived_files import all_derived_files
from graphrag_dagster.service.settings import ServiceSettings
from support.commands import Run
from support.endpoint import ScriptedEndpoint
from support.homes import copy_home, enter_home
from support.modelled import write_modelled
from support.served import serving

QUESTION = "Who led the Dockers Union?"
FACT = "Hanna Quill led the Dockers Union."


def check(index: Index, answer: Answer) -> None:
    """Every source holds verbatim, every mark is one of them; statements are quotations, or edges of the graph."""
    documents = dict(index.searcher.index.documents.select("document_id", "text").iter_rows())
    assert answer.sources
    for source in answer.sources:
        words = source.evidence
        assert documents[words.document_id][words.start_char : words.end_char] == words.quotation
        assert f"[{source.number}]" in answer.text
    for statement in answer.statements:
        assert statement.verdict == "supported"
        assert statement.sources
        if " — " not in statement.text:
            assert statement.score == statement.similarity == 1.0
    assert sum(use.tokens for use in answer.context) > 0
    assert answer.seconds is not None
    json.dumps(answer.to_dict())


@pytest.mark.parametrize(
    "method", [one.name for one in methods().values() if one.tables and one.name != "sql"]
)
def test_every_way_quotes_the_fact_with_its_place(index: Index, method: str) -> None:
    answer = index.ask(QUESTION, method=method)
    assert not answer.refused
    assert FACT in {source.evidence.quotation for source in answer.sources}
    check(index, answer)


@pytest.mark.parametrize("method", [one.name for one in methods().values() if one.tables])
def test_every_way_refuses_what_the_documents_do_not_hold(index: Index, method: str) -> None:
    answer = index.ask("How do I bake sourdough bread?", method=method)
    assert answer.refused
    assert (answer.sources, answer.statements) == ((), ())
    if method != "sql":
        assert f"The method {answer.method} searched 4 documents (4 text units)" in answer.text
        assert "No passage shares a word with the question." in answer.text
        assert answer.nearest is None


def test_a_refusal_shows_the_nearest_passage_and_the_filters(index: Index) -> None:
    answer = index.ask(
        "How do Dockers bake sourdough bread?", method="basic", filters=Filters(folders=("news",))
    )
    assert answer.refused
    assert "do not hold" not in answer.text
    assert answer.text.startswith("No answer was found. The method basic searched")
    assert "; filters in force: folder news." in answer.text
    assert answer.nearest
    assert answer.nearest.evidence
    assert "Dockers" in answer.nearest.evidence.quotation
    assert f"{answer.nearest.evidence.told.location}: “{answer.nearest.evidence.quotation}”" in answer.text
    assert json.loads(json.dumps(answer.to_dict()))["nearest"]["evidence"]["path"].startswith("news/")


def test_a_notebook_shows_an_answer_with_its_sources(index: Index) -> None:
    answer = index.ask(QUESTION, method="basic")
    shown = answer._repr_markdown_().split("\n\n")
    assert shown[0] == f"*{answer.heading}*"
    assert shown[-1].startswith("1. news/strike.md, characters ")
    assert FACT in shown[-1].replace("\\", "")
    (hostile,) = (replace(one, evidence=None, title="[x](http://e)\n<b>") for one in answer.sources[:1])
    shown = replace(answer, sources=(hostile,))._repr_markdown_()
    assert shown.endswith("1. \\[x\\]\\(http://e\\) \\<b\\>")


def test_sql_gives_a_frame_of_the_snapshot(index: Index) -> None:
    query = "select title, [1, 2] as l, {'a': 1} as s, current_date as d, null as n from corpus.documents"
    frame = index.sql(query)
    assert frame.schema["l"] == pl.List(pl.Int64)
    assert (len(frame), frame["s"][0], frame["n"].null_count()) == (4, {"a": 1}, 4)
    assert index.sql("select 1 as a where false").columns == ["a"]
    assert index.sql("select 1.5 as a union all select sum(2.25)").rows() == [(1.5,), (2.25,)]
    for refused in (
        "delete from corpus.documents",
        "select * from read_csv('/etc/passwd')",
        "select nofun()",
    ):
        with pytest.raises(QuestionError):
            index.sql(refused)
    with pytest.raises(QuestionError, match="was stopped; ask for less$"):
        index.sql("select count(*) from range(100000000) a, range(1000000) b", seconds=0.5)


def test_auto_says_why(index: Index) -> None:
    local = index.ask("What did Hanna Quill accuse Orrin Vask of?")
    assert local.method == "local"
    assert "Hanna Quill" in (local.why or "")
    names = local.section("Names in the question")
    assert names
    found = zip(*(names.column(one) for one in ("in the question", "how", "sure")), strict=True)
    assert [(text, how) for text, how, sure in found if sure >= SURE] == [
        ("Hanna Quill", "exact"), ("Orrin Vask", "exact"),
    ]  # fmt: skip
    overview = index.ask("What are the main themes?")
    assert not overview.section("Names in the question")
    assert overview.method == "C1"
    assert "overview" in (overview.why or "")


def test_a_level_without_a_method_means_the_reports_of_that_level(index: Index) -> None:
    assert index.ask(QUESTION, level="C2").method == "C2"
    with pytest.raises(QuestionError, match="no level C9"):
        index.ask(QUESTION, level="C9")
    assert index.ask(QUESTION, method="c2").method == "C2"
    assert index.ask(QUESTION, method="Basic").method == "basic"
    with pytest.raises(QuestionError, match="local has no selectable level"):
        index.ask(QUESTION, method="local", level="C1")
    with pytest.raises(QuestionError, match="no search method 'magic'"):
        index.ask(QUESTION, method="magic")


def test_a_conversation_says_what_a_question_is_about(index: Index) -> None:
    history = [("Who is Piet Lund?", "Piet Lund works for Wavecrest Energy.")]
    assert index.ask("Whom did he thank?", history=history).method == "local"
    told = index.ask("Whom did he thank?", method="local", history=history)
    assert "Piet Lund" in told.text
    best = index.search_entities("Who is Piet Lund?\nWhom did he thank?", 1)
    assert [one.title for one in best] == ["Piet Lund"]


def test_the_way_from_a_report_to_the_words_is_kept(index: Index) -> None:
    answer = index.ask("What happened between Orrin Vask and Selma Dray?", method="C0")
    source = next(one for one in answer.sources if one.via_kind)
    assert source.kind == "report"
    assert source.finding is not None
    assert source.via_kind in {"relationship", "entity"}
    frame = index.searcher.index.relationships if source.via_kind == "relationship" else None
    if frame is not None:
        units = dict(frame.select("relationship_id", "text_unit_ids").iter_rows())[source.via_id]
        assert source.evidence.text_unit_id in units


def test_a_local_context_begins_with_the_text_units_within_the_budget(index: Index) -> None:
    answer = index.ask(QUESTION, method="local")
    assert answer.context[0].kind == "source"
    assert sum(use.tokens for use in answer.context) <= 8000


@pytest.mark.parametrize(
    "question",
    ["", " \n", "¿?", "x" * 4001, "what\x00is\x01this", "\x89PNG\x1a"],
)
def test_what_is_no_question_is_refused_plainly(index: Index, question: str) -> None:
    with pytest.raises(QuestionError, match="question"):
        index.ask(question)


@pytest.mark.parametrize("question", ["谁领导了码头工人工会？", "كيف أخبز الخبز؟", "🤖🤖 a", "x " * 1999])
@pytest.mark.parametrize("method", ["local", "basic", "C1", "TS"])
def test_other_languages_and_long_questions_are_answered_or_refused(
    index: Index, question: str, method: str
) -> None:
    answer = index.ask(question, method=method)
    assert answer.refused or answer.sources


def test_entities_reports_and_sources_can_be_read(index: Index) -> None:
    (first, *_) = index.search_entities("Orrin Vask", 3)
    assert first.title == "Orrin Vask"
    report_id = index.searcher.index.reports["report_id"][0]
    assert index.report(report_id).content.startswith("# ")
    unit = index.searcher.index.text_chunks["text_unit_id"][0]
    source = index.source(unit)
    assert source.end_char - source.start_char == len(source.text)
    for read in (index.report, index.source):
        with pytest.raises(QuestionError, match="'nonsense'"):
            read("nonsense")


def test_what_cannot_be_opened_says_so(index: Index) -> None:
    assert Index.names() == ["coast"]
    with pytest.raises(CorpusError, match="nowhere"):
        Index.open("nowhere")
    with pytest.raises((WarehouseError, CorpusError)):
        Index.open("../coast")


#: Of each kind that ``auto`` tells apart, about different names.
THREADED = (
    *(QUESTION, "What are the main themes?", "How many people are there?", "Who founded Tallow Marine?"),
    *("Where did Orrin Vask meet Selma Dray?", "What did Piet Lund say to the Northern Council?"),
    *("Who built a turbine at Skerry Point?", "What did the Ellery Gazette report?"),
)
_MODEL = """
engine: llm
coterag: {{profile: calibrated}}
model: {{base_url: "{}", name: scripted}}
search: {{routing: model, sql: model}}
"""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint() as made:
        yield made


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads take turns a thousand times as often as they usually do."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(usual / 1000)
    yield
    sys.setswitchinterval(usual)


def told(index: Index, question: str, method: str) -> dict[str, Any]:
    """An answer but for what depends on the clock and on who asked first."""
    return {**index.ask(question, method=method).to_dict(), "seconds": None, "usage": None}


@pytest.mark.usefixtures("eager_threads")
@pytest.mark.parametrize(
    ("method", "by_model"),
    [
        (one.name, by_model)
        for one in methods().values()
        for by_model in (False, True)
        if by_model or not one.needs_model
    ],
)
def test_sixteen_threads_are_answered_as_one_is(
    coterag_home: Path, home: Path, endpoint: ScriptedEndpoint, method: str, by_model: bool
) -> None:
    copy_home(coterag_home, home)
    if by_model:
        (home / "corpora" / "coast" / "corpus.yaml").write_text(_MODEL.format(endpoint.url), encoding="utf-8")
    # Nobody has asked this snapshot yet.
    for kind in all_derived_files():
        for folder in (home / "warehouse").rglob(kind.folder):
            shutil.rmtree(folder)
    fresh, again = Index.open("coast"), Index.open("coast")
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda question: told(fresh, question, method), THREADED * 2))
    assert found == [told(again, question, method) for question in THREADED] * 2


def test_questions_at_once_over_http_are_answered_as_one_after_another(
    coterag_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter_home(monkeypatch, coterag_home)
    settings = ServiceSettings(port=0, max_asks=16, queue_seconds=60.0)
    with serving(None, settings) as url, httpx2.Client(base_url=url, timeout=60.0) as client:

        def ask(question: str) -> object:
            response = client.post("/corpora/coast/ask", json={"question": question, "method": "paths"})
            return {**response.json(), "seconds": None, "usage": None}

        with ThreadPoolExecutor(16) as pool:
            found = list(pool.map(ask, THREADED * 4))
        assert found == [ask(question) for question in THREADED] * 4


#: Numbers of a vector when the corpus was indexed, and of those that the endpoint gives later.
_BEFORE, _LATER = 16, 8


def test_vectors_of_another_length_are_told_with_the_way_out(
    modelled_home: Path, home: Path, run: Run
) -> None:
    copy_home(modelled_home, home)
    said = f"returned a vector of {_LATER} numbers, but earlier ones have {_BEFORE}: .*set model.namespace"
    with ScriptedEndpoint(dimension=_LATER) as endpoint:
        folder = write_modelled(home / "corpora", endpoint)
        made = Index.open("coast")
        for method in ("auto", "local", "drift", "basic", "paths", "graph", "SS"):
            with pytest.raises(VectorLengthError, match=said):
                made.ask(QUESTION, method=method)
        with pytest.raises(VectorLengthError, match=said):
            made.embed(["a harbour"])
        for method in Index.methods("coast"):
            with suppress(VectorLengthError):
                assert made.ask(QUESTION, method=method)
        with serving(None, ServiceSettings(port=0)) as url:
            told = httpx2.post(f"{url}/corpora/coast/ask", json={"question": QUESTION}, timeout=60.0)
        assert told.status_code == 409
        assert re.search(said, told.json()["error"]["message"])
        code, out, _ = run("doctor", "coast", "--json")
        assert code == 1
        assert re.search(said, out)
        (folder / "new.txt").write_text("Ole Brenn bought the mill at Hebdon.", encoding="utf-8")
        code, _, errors = run("index", "coast")
        assert code == 1
        assert re.search(said, errors)
        assert "Traceback" not in errors
        settings = (folder / "corpus.yaml").read_text(encoding="utf-8")
        (folder / "corpus.yaml").write_text(settings + '  namespace: "2"\n', encoding="utf-8")
        assert run("index", "coast")[0] == 0
        assert run("doctor", "coast")[0] == 0
        assert "Hebdon" in Index.open("coast").ask("Who bought the mill?", method="basic").text


@pytest.mark.parametrize("place", ["/dev/null/cache/replies.sqlite", "."])
def test_a_question_that_asks_no_model_needs_no_cache_of_replies(
    coterag_home: Path, home: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    copy_home(coterag_home, home)
    monkeypatch.setenv("GRAPHRAG_DAGSTER_CACHE", str(home / place))
    index = Index.open("coast")
    for method in methods().values():
        assert method.needs_model or index.ask(QUESTION, method=method.name)
    assert index.search_entities("Hanna Quill", 1)
    assert len(index.embed(["a harbour"])) == 1
    (home / "corpora" / "coast" / "corpus.yaml").write_text(
        _MODEL.format("http://127.0.0.1:9"), encoding="utf-8"
    )
    with pytest.raises(CacheFileError, match="cannot be used as the LLM cache"):
        Index.open("coast").ask(QUESTION, method="basic")
