"""CoTeRAG-S as a search method: of what is asked, shown, cited, kept, and refused."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from graphrag_dagster import Filters, Index
from graphrag_dagster.apps.evaluation.questions.answer_tables import ANSWER_CONTEXTS, ANSWERS
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import QuestionError, SettingsError
from graphrag_dagster.kernel.catalogue.registry import methods
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.published import snapshot_manifest
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.systems.coterag.search.coterag_method import INSUFFICIENT
from graphrag_dagster.systems.coterag.tables import COTERAG_MEMBERS
from support.commands import Run
from support.conversations import asked_of
from support.corpora import DOCUMENTS, write_corpus
from support.endpoint import ScriptedEndpoint
from support.homes import copy_home
from support.scripted_replies import Scripted, name_pattern_script
from support.traces import column, fact

QUESTION = "Who led the Dockers Union?"
FACT = "Hanna Quill led the Dockers Union."
ON = "coterag: {profile: calibrated}\n"


@pytest.fixture
def corpus(coterag_home: Path, home: Path) -> Path:
    copy_home(coterag_home, home)
    return home / "corpora" / "coast"


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint() as running:
        yield running


@pytest.mark.usefixtures("corpus")
def test_a_large_index_is_answered_from_its_stored_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    in_memory = Index.open("coast").ask(QUESTION, method="coterag").text
    monkeypatch.setattr(snapshot_manifest, "LARGE_FROM", 0)
    assert Index.open("coast").ask(QUESTION, method="coterag").text == in_memory
    assert Index.open("coast").ask(QUESTION, method="coterag").text == in_memory


ROUNDS = "Rounds over what stands apart"


def told_by_model(corpus: Path, endpoint: ScriptedEndpoint, more: str = "") -> None:
    """Ask a model from now on, over the index that was made without one."""
    model = f"model: {{base_url: '{endpoint.url}', name: scripted, retries: 1}}\n"
    (corpus / "corpus.yaml").write_text(f"coterag: {{profile: calibrated, engine: llm{more}}}\n{model}")


def scripted(replies: dict[str, Callable[[str], str] | str]) -> Callable[[dict[str, Any]], Scripted | str]:
    def reply(body: dict[str, Any]) -> Scripted | str:
        asked = asked_of(body)
        made = replies.get(asked.task)
        if made is None:
            return name_pattern_script(body)
        return made if isinstance(made, str) else made(asked.data)

    return reply


def route(to: str) -> str:
    return json.dumps({"reason": "so it seems", "route": to})


def verdict(of: str) -> str:
    return json.dumps({"reason": "read", "verdict": of})


def numbered(data: str, words: str) -> str:
    """The number of the row that holds some words."""
    return next(line for line in data.splitlines() if words in line).partition(".")[0]


def test_an_answer_tells_its_whole_way(corpus: Path, run: Run) -> None:
    told = json.loads(run("ask", "coast", QUESTION, "--method", "coterag", "--json")[1])
    trace = {one["title"]: one for one in told["trace"]}
    rows = {
        title: [dict(zip(one["columns"], row, strict=True)) for row in one["rows"]]
        for title, one in trace.items()
    }
    assert rows["CoTeRAG-S"][0]["route"] == "specific"
    assert rows["CoTeRAG-S"][0]["profile"] == "calibrated"
    taken = [one for one in rows["Communities"] if one["taken"]]
    assert taken
    thresholds = {one["threshold"]: one["value"] for one in rows["Thresholds"]}
    for one in taken:
        covers = one["coverage"] > thresholds["coverage"]
        assert one["similarity"] > thresholds["covered" if covers else "community"]
    assert [one["row"] for one in trace["Communities"]["links"]] == list(range(len(rows["Communities"])))
    assert told["method"] == "coterag"
    assert {one["kind"] for one in told["context"]} == {"summary", "source"}
    assert FACT in {one["evidence"]["quotation"] for one in told["sources"]}
    assert [one["task"] for one in told["steps"]] == ["route", "answer", "validate"]
    shown = run("ask", "coast", QUESTION, "--method", "coterag", "--trace")[1]
    for step in ("route: specific", "profile: calibrated", "verdict: ok", "Communities", "Entities"):
        assert step in shown


@pytest.mark.parametrize("question", ["Which recipes use saffron?", "How are violins tuned?"])
def test_a_question_about_something_else_matches_no_community(corpus: Path, run: Run, question: str) -> None:
    told = json.loads(run("ask", "coast", question, "--method", "coterag", "--json")[1])
    trace = {one["title"]: one for one in told["trace"]}
    assert told["refused"]
    assert "Communities" not in trace
    assert "since no community matched" in told["why"]


def test_what_a_model_cites_leads_to_the_words(corpus: Path, endpoint: ScriptedEndpoint) -> None:
    def answer(data: str) -> str:
        triple = numbered(data, "Hanna Quill lead Dockers Union.")
        return (
            f"Quill led it [Data: Relationships ({triple})]. It is a union [Data: Reports (1), Sources (99)]."
        )

    endpoint.script = scripted(
        {"coterag_route": route("specific"), "coterag_answer": answer, "coterag_validate": verdict("ok")}
    )
    told_by_model(corpus, endpoint)
    made = Index.open("coast").ask("How are Hanna Quill and the Dockers Union connected?", method="coterag")
    by_kind = {one.kind: one for one in made.sources}
    assert set(by_kind) == {"triple", "summary"}
    triples = Warehouse().read(tables.TRIPLES, "coast").filter(triple_id=by_kind["triple"].record_id)
    assert triples.select("head", "tail").row(0) == ("HANNA QUILL", "DOCKERS UNION")
    assert by_kind["triple"].evidence.quotation == FACT
    documents = dict(Warehouse().read(tables.DOCUMENTS, "coast").select("document_id", "text").iter_rows())
    words = by_kind["summary"].evidence
    assert documents[words.document_id][words.start_char : words.end_char] == words.quotation
    assert (made.removed_citations, made.usage.calls, made.engine) == (1, 3, "llm")
    assert endpoint.chats


def test_a_general_question_is_answered_without_documents(corpus: Path, endpoint: ScriptedEndpoint) -> None:
    endpoint.script = scripted(
        {"coterag_route": route("general"), "coterag_direct": "Water is wet. It flows."}
    )
    told_by_model(corpus, endpoint)
    made = Index.open("coast").ask("Is water wet?", method="coterag")
    assert (made.text, made.refused, made.context, made.sources) == ("Water is wet. It flows.", False, (), ())
    assert (made.general, made.unsupported) == (2, 0)
    assert "without documents" in (made.why or "")


def test_who_always_asks_for_more_is_told_to_be_insufficient(
    corpus: Path, endpoint: ScriptedEndpoint
) -> None:
    endpoint.script = scripted(
        {
            "coterag_route": route("specific"),
            "coterag_answer": "Quill is named [Data: Sources (9)].\n\nSEARCH_MORE",
        }
    )
    told_by_model(corpus, endpoint)
    made = Index.open("coast").ask(QUESTION, method="coterag")
    assert made.refused
    assert made.text.startswith(INSUFFICIENT)
    assert "Quill is named" in made.text
    assert fact(made, "CoTeRAG-S", "generations") <= 3
    assert "not sufficient" in (made.why or "")


def test_prose_of_a_validator_is_a_counted_problem(corpus: Path, endpoint: ScriptedEndpoint) -> None:
    endpoint.script = scripted(
        {
            "coterag_route": "Well.",
            "coterag_answer": "Quill led it [Data: Sources (9)].",
            "coterag_validate": "Looks fine to me.",
        }
    )
    told_by_model(corpus, endpoint)
    made = Index.open("coast").ask(QUESTION, method="coterag")
    assert fact(made, "CoTeRAG-S", "route") == "specific"
    assert column(made, "Validator", "verdict")[-1] == "ok"
    assert len(made.problems) == 2
    assert [call.problem is not None for call in made.steps] == [True, False, True]


def test_support_judges_the_answer_where_it_is_switched_on(corpus: Path, endpoint: ScriptedEndpoint) -> None:
    replies = {"coterag_route": route("specific"), "coterag_validate": verdict("ok")}
    endpoint.script = scripted({**replies, "coterag_answer": "Bread is baked at dawn [Data: Sources (9)]."})
    told_by_model(corpus, endpoint, ", fallback: {support: true}")
    made = Index.open("coast").ask(QUESTION, method="coterag")
    assert fact(made, "CoTeRAG-S", "support") == 0
    assert column(made, ROUNDS, "since")[:1] == ["support"]


def test_each_ablation_leaves_out_its_part(corpus: Path) -> None:
    index = Index.open("coast")
    made = {one.name: index.ask(QUESTION, method=one.name) for one in methods().values() if one.needs}
    assert set(made) == {"coterag", *(one.name for one in methods().values() if one.without == "coterag")}
    kinds = {name: {use.kind for use in answer.context} for name, answer in made.items()}
    assert "summary" not in kinds["coterag-no-communities"]
    assert not made["coterag-no-communities"].section("Communities")
    matched = made["coterag-no-matching"]
    assert "summary" not in kinds["coterag-no-matching"]
    assert not matched.section("Communities")
    by_terms = {one.record_id for one in matched.context if one.kind == "source"}
    assert by_terms == {one.record_id for one in made["coterag"].context if one.kind == "source"}
    assert "triple" not in kinds["coterag-no-traversal"]
    assert not made["coterag-no-fallback"].section(ROUNDS)
    refused = index.ask("How do I bake sourdough bread?", method="coterag")
    assert refused.section(ROUNDS)
    without = index.ask("How do I bake sourdough bread?", method="coterag-no-fallback")
    assert not without.section(ROUNDS)


def test_a_filter_leaves_communities_out_that_speak_of_more(corpus: Path) -> None:
    index = Index.open("coast")
    paths = tuple(DOCUMENTS)[:2]
    made = index.ask(QUESTION, method="coterag", filters=Filters(documents=paths))
    assert "could not be matched" in (made.why or "")
    assert FACT in {one.evidence.quotation for one in made.sources}


def test_answers_to_the_list_keep_the_way_lead_back_and_rest_on_the_documents_of_what_they_were_shown(
    corpus: Path, run: Run
) -> None:
    settings = f"questions: {{ask: ['{QUESTION}'], methods: [coterag, coterag-no-traversal]}}\n"
    (corpus / "corpus.yaml").write_text(ON + settings)
    run_job("coast", "answer")
    answers = Warehouse().read(ANSWERS, "coast")
    assert answers["method"].to_list() == ["coterag", "coterag-no-traversal"]
    for one in answers["trace"]:
        (told,) = (part for part in json.loads(one) if part["title"] == "CoTeRAG-S")
        assert told["rows"][0][told["columns"].index("profile")] == "calibrated"
    told = run("why", "coast", "answer", answers["answer_id"][0])[1]
    assert "summary" in told
    assert FACT in told
    shown = Warehouse().read(ANSWER_CONTEXTS, "coast").filter(kind="summary")["record_id"].to_list()
    assert shown
    for path in DOCUMENTS:
        found = json.loads(run("impact", "coast", path, "--json")[1])
        touched = {one["community_id"] for one in found["summaries"]}
        assert touched.isdisjoint(shown) or found["answers"]


def test_summaries_and_triples_lead_to_the_words_and_back(corpus: Path, run: Run) -> None:
    read = Warehouse().read
    said = read(tables.TRIPLES, "coast").filter(head="HANNA QUILL", tail="DOCKERS UNION")
    shown = json.loads(run("why", "coast", "triple", said["triple_id"][0], "--json")[1])
    assert shown["steps"][0]["evidence"][0]["quotation"] == FACT
    members = read(COTERAG_MEMBERS, "coast").filter(entity_id=said["head_id"][0])
    summary = json.loads(run("why", "coast", "summary", members["community_id"][0], "--all", "--json")[1])
    assert said["triple_id"][0] in {one["id"] for one in summary["steps"]}
    assert summary["left_out"] == 0
    touched = json.loads(run("impact", "coast", "news/strike.md", "--json")[1])
    assert members["community_id"][0] in {one["community_id"] for one in touched["summaries"]}
    assert touched["counts"]["summaries_again"] == len(touched["summaries"])


@pytest.mark.parametrize("section", ["search: {method: coterag}", "questions: {methods: [coterag, SS]}"])
def test_settings_that_ask_for_what_is_not_made_are_refused(home: Path, section: str) -> None:
    write_corpus(home / "corpora", settings=f"{section}\n")
    with pytest.raises(SettingsError, match=r"coterag: \{enabled: true\}"):
        CorpusStore().settings("coast")


def test_an_index_without_it_says_what_to_do(coast: Path) -> None:
    with pytest.raises(QuestionError, match=r"coterag: \{profile: calibrated\}"):
        Index.open("coast").ask(QUESTION, method="coterag")
    assert "coterag" not in Index.methods("coast")
    (coast / "corpus.yaml").write_text(ON)
    assert "coterag" in Index.methods("coast")
