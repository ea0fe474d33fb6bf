"""Questions that are answered from some of the documents."""

import json
from collections.abc import Sequence
from itertools import combinations

import pytest

from graphrag_dagster import Filters, Index
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.catalogue.registry import methods
from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.questions.question import Question
from graphrag_dagster.kernel.questions.searcher import Searcher
from graphrag_dagster.systems.coterag.search.coterag_snapshot import coterag_tables_of
from support.commands import Run
from support.corpora import DOCUMENTS

PATHS = tuple(DOCUMENTS)
QUESTIONS = ("What did Hanna Quill say of Orrin Vask?", "What are the main themes?")
#: Ways that read text units, and so find some in any document.
READING_UNITS = (
    "auto",
    "local",
    "drift",
    "basic",
    "paths",
    "TS",
    "SS",
    "graph",
    *(one.name for one in methods().values() if one.needs),
)


def reports_inside(index: Index, paths: Sequence[str]) -> bool:
    """Whether a report was written from these documents alone; in this corpus each is of every level."""
    whole = index.searcher.index
    coterag = coterag_tables_of(whole)
    assert coterag is not None
    path_of = {unit: passage.path for unit, passage in whole.passages.items()}
    where = {
        one: {path_of[unit] for unit in units}
        for one, units in whole.entities.select("entity_id", "text_unit_ids").iter_rows()
    }
    members = whole.members.group_by("community_id").agg("entity_id")["entity_id"]
    return any(all(where[one] <= set(paths) for one in some) for some in members)


def check_inside(index: Index, answer: Answer, paths: set[str]) -> None:
    """Nothing that is cited, or was shown, rests on words of other documents."""
    whole = index.searcher.index
    coterag = coterag_tables_of(whole)
    assert coterag is not None
    path_of = {unit: passage.path for unit, passage in whole.passages.items()}
    for source in answer.sources:
        if source.evidence:
            assert source.evidence.path in paths
    units = {
        row[key]: set(row["text_unit_ids"])
        for frame, key in (
            (whole.entities, "entity_id"),
            (whole.relationships, "relationship_id"),
            (coterag.triples, "triple_id"),
        )
        for row in frame.iter_rows(named=True)
    }
    for use in answer.context:
        if use.kind == "source":
            assert path_of[use.record_id] in paths
        elif use.kind == "report":
            members = whole.members.filter(community_id=use.record_id)["entity_id"]
            assert {path_of[unit] for one in members for unit in units[one]} <= paths
        elif use.kind == "summary":
            members = coterag.members.filter(community_id=use.record_id)["entity_id"]
            assert {path_of[unit] for one in members for unit in units[one]} <= paths
        else:
            assert {path_of[unit] for unit in units[use.record_id]} & paths


@pytest.mark.parametrize(
    "method", [one.name for one in methods().values() if one.tables and one.name != "sql"]
)
def test_citations_never_leave_the_filter(index: Index, method: str) -> None:
    for size in range(1, len(PATHS) + 1):
        for paths in combinations(PATHS, size):
            for question in QUESTIONS:
                filters = Filters(documents=paths)
                if method not in READING_UNITS and not reports_inside(index, paths):
                    with pytest.raises(QuestionError, match="from the filtered documents alone"):
                        index.ask(question, method=method, filters=filters)
                    continue
                answer = index.ask(question, method=method, filters=filters)
                check_inside(index, answer, set(paths))
                assert answer.scope
                assert answer.scope.documents == (size, len(PATHS))


def test_tables_are_queried_whole_or_not_at_all(index: Index) -> None:
    filters = Filters(documents=PATHS[:1])
    with pytest.raises(QuestionError, match="supports no filter; name the folder"):
        index.ask("How many people are there?", method="sql", filters=filters)
    assert index.ask("How many people are there?", filters=filters).method != "sql"
    assert index.ask("How many people are there?").method == "sql"


def test_a_filter_that_all_documents_fit_changes_no_answer(index: Index) -> None:
    for method in ("local", "basic", "C0", "dynamic", "drift"):
        whole = index.ask(QUESTIONS[0], method=method)
        filtered = index.ask(QUESTIONS[0], method=method, filters=Filters(documents=PATHS))
        assert filtered.text == whole.text
        assert filtered.context == whole.context
        assert whole.scope is None


def test_what_was_restricted_is_told_and_kept_for_the_next_question(index: Index) -> None:
    filters = Filters(folders=("news",))
    answer = index.ask(QUESTIONS[0], filters=filters)
    assert "restricted to 2 of 4 documents (2 of 4 text units, " in (answer.why or "")
    assert json.loads(json.dumps(answer.to_dict()))["scope"]["filters"] == {"folders": ["news"]}
    searcher = index.searcher
    assert searcher._restricted(frozenset(["x"])) is searcher._restricted(frozenset(["x"]))


def test_auto_reads_all_of_few_documents_that_no_report_is_about(index: Index) -> None:
    answer = index.ask("What are the main themes?", filters=Filters(documents=("strike",)))
    assert answer.method == "TS"
    assert "cover less than half of them" in (answer.why or "")
    with pytest.raises(QuestionError, match="no report of C1 was written from .*--method TS"):
        index.ask("What are the main themes?", method="global", filters=Filters(documents=("strike",)))


def test_a_report_is_read_where_all_it_was_written_from_is_inside(index: Index) -> None:
    answer = index.ask(
        "What are the main themes?", method="C0", filters=Filters(folders=("institute", "news"))
    )
    assert {use.kind for use in answer.context} == {"report"}


def test_documents_that_a_question_names_come_first(index: Index) -> None:
    question = "According to the strike, what did Selma Dray do?"
    for method in ("basic", "local"):
        answer = index.ask(question, method=method)
        first = next(use for use in answer.context if use.kind == "source")
        assert first.title == "The strike"
        assert "favoured: the document “the strike” (1 of 4)" in (answer.why or "")
        assert [one.documents for one in answer.favoured] == [1]
        off = index.ask(question, method=method, filters=Filters(soft=False))
        assert "favoured" not in (off.why or "")
        assert off.favoured == ()
        # It is favoured, nothing is left out.
        assert {use.record_id for use in off.context if use.kind == "source"} == {
            use.record_id for use in answer.context if use.kind == "source"
        }


@pytest.mark.parametrize("method", ["auto", "basic", "local", "drift", "paths"])
def test_a_document_that_a_question_names_exactly_is_searched_alone(index: Index, method: str) -> None:
    question = "What does the article “The strike” say of Selma Dray?"
    answer = index.ask(question, method=method)
    assert "searched only: the document “The strike” (1 of 4)" in (answer.why or "")
    assert [(one.documents, one.only) for one in answer.favoured] == [(1, True)]
    assert {(use.kind, use.title) for use in answer.context} == {("source", "The strike")}
    assert {source.title for source in answer.sources} == {"The strike"}
    soft = Searcher(index.searcher.index, index.searcher.settings, index.searcher.count)
    favoured = soft.with_options(hard_filters=False).answer(Question(question, method), index._session())
    assert "favoured: the document “The strike” (1 of 4)" in (favoured.why or "")
    assert [one.only for one in favoured.favoured] == [False]


def test_a_refusal_says_of_the_documents_that_were_named_what_was_searched(index: Index) -> None:
    answer = index.ask("What does the article “The strike” say of marmalade and the Dockers?", method="basic")
    refused = index.ask("What does the article “The strike” say of marmalade?", method="basic")
    assert not answer.refused
    assert refused.refused
    assert "searched the 1 of 4 documents that the question names (1 of 4 text units)" in refused.text
    assert refused.nearest is None or refused.nearest.title == "The strike"


@pytest.mark.parametrize(
    ("method", "reads"),
    [
        ("C1", "all reports of C1 are read alike"),
        ("global", "all reports of C1 are read alike"),
        ("TS", "all text units are read alike"),
        ("SS", "vectors alone choose the text units"),
        ("dynamic", "reports are chosen by what they say"),
    ],
)
def test_ways_that_favour_nothing_say_so_where_documents_are_named(
    index: Index, method: str, reads: str
) -> None:
    question = "Who led the Dockers Union in the article The strike?"
    answer = index.ask(question, method=method)
    named = f"named, but not favoured, since {reads}: the document “The strike” (1 of 4)"
    assert named in (answer.why or "")
    assert answer.favoured == ()
    off = index.ask(question, method=method, filters=Filters(soft=False))
    assert "named, but" not in (off.why or "")
    assert (off.text, off.sources) == (answer.text, answer.sources)
    assert "named, but" not in (index.ask("Who led the Dockers Union?", method=method).why or "")


def test_a_conversation_goes_on_favouring_what_it_named(index: Index) -> None:
    told = index.ask("And Selma Dray?", method="basic", history=[("What does “The strike” say?", "Much.")])
    assert "favoured: the document “The strike”" in (told.why or "")


def test_auto_looks_in_documents_that_a_question_names(index: Index) -> None:
    answer = index.ask("What does strike.md say about themes?")
    assert answer.method == "local"
    assert "the question names documents or their period" in (answer.why or "")


def test_a_period_that_no_document_is_of_is_said(index: Index) -> None:
    answer = index.ask("What did Hanna Quill say in the FY31 Q1 call?", method="local")
    assert "no document is of FY31 Q1" in (answer.why or "")
    assert not answer.refused


@pytest.mark.usefixtures("coast")
def test_the_command_line_takes_filters(run: Run) -> None:
    ask = ("ask", "coast", QUESTIONS[0], "--json")
    both = ("--document", "strike", "--document", "merger", "--folder", "news", "--where", "path!=x")
    code, out, _ = run(*ask, *both, "--from", "2014", "--to", "June 2015", "--no-soft-filters")
    assert code == 0
    scope = json.loads(out)["scope"]
    assert scope["documents"] == [2, 4]
    assert scope["filters"] == {
        "documents": ["strike", "merger"],
        "folders": ["news"],
        "date_from": "2014",
        "date_to": "June 2015",
        "where": ["path!=x"],
        "soft": False,
    }
    code, out, _ = run("ask", "coast", QUESTIONS[0], "--date", "June 2015", "--trace")
    assert code == 0
    assert "restricted to 1 of 4 documents" in " ".join(out.replace("│", " ").split())
    code, _, err = run(*ask, "--date", "2015", "--from", "2014")
    assert code == 1
    assert "--date says both" in err
    code, _, err = run(*ask, "--where", "speaker=Anna")
    assert code == 1
    assert "no document has a value 'speaker'" in err
