"""Questions that a query answers: every template, counted by hand, and what no template answers."""

import json
from dataclasses import replace
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.questions.context.index_snapshot import MOST_ROWS, IndexSnapshot
from graphrag_dagster.kernel.storage.sql_sandbox import QueryLimits, SnapshotQueries
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.text.evidence import Row, Words
from graphrag_dagster.systems.graphrag.search.sql.document_scope import DocumentScope
from graphrag_dagster.systems.graphrag.search.sql.sql_search import sql, suggestions
from graphrag_dagster.systems.graphrag.search.sql.template_matching import TEMPLATES, match_question
from graphrag_dagster.systems.graphrag.search.sql.words_in_texts import pattern_of, phrases_in
from support.questions import asked_of

#: Of each template: a question, the line that says how it was read, and the lines below it.
ANSWERS: dict[str, list[tuple[str, str, list[str]]]] = {
    "documents": [
        ("How many documents are there?", "Counted: documents: 6", [f"Paper {n}" for n in (0, 1, 3, 4, 5, 2)]),
        ("how many documents of 2021?", "Counted: documents dated 2021-01-01 to 2021-12-31: 3", ["Paper 1", "Paper 3", "Paper 4"]),
        ("number of documents in the folder news", "Counted: documents of the folder news: 2", ["Paper 0", "Paper 1"]),
        ("Which incidents are there since 2021-07?", "Counted: documents of the file data/incidents.csv dated 2021-07-01 or later: 2", ["Paper 4", "Paper 5"]),
        ("how many md documents are there", "Counted: documents of format md: 2", ["Paper 0", "Paper 2"]),
        ("How many documents are there in Q3 2021?", "Counted: documents dated 2021-07-01 to 2021-09-30: 1", ["Paper 4"]),
        ("How many documents are there since 20 May 2021?", "Counted: documents dated 2021-05-20 or later: 4", ["Paper 1", "Paper 3", "Paper 4", "Paper 5"]),
        ("How many documents mention Tallow Marine?", "Counted: documents whose text contains “Tallow Marine”: 3", ["Paper 0", "Paper 1", "Paper 2"]),
        ("In how many documents are both Anna Bell and Tallow Marine named?", "Counted: documents whose text contains “Anna Bell” and “Tallow Marine”: 2", ["Paper 0", "Paper 2"]),
        ("which documents of the folder council are about anna bell?", "Counted: documents of the folder council whose text contains “anna bell”: 1", ["Paper 2"]),
        ("How many documents are there before 1800?", "Counted: documents dated 1799-12-31 or earlier: 0", []),
    ],
    "files": [
        ("How many files are there?", "Counted: files that were read: 4", ["council/minutes.md: 1 documents", "data/incidents.csv: 3 documents", "news/merger.txt: 1 documents", "news/strike.md: 1 documents"]),
    ],
    "documents_by": [
        ("Number of documents by year", "Counted: documents, by year:", ["2020: 1", "2021: 3", "2022: 1", "–: 1"]),
        ("How many incidents are there per ship?", "Counted: documents of the file data/incidents.csv, by ship:", ["Lyra: 1", "Vega: 1", "vega: 1"]),
        ("documents by month in 2021", "Counted: documents dated 2021-01-01 to 2021-12-31, by month:", ["2021-05: 1", "2021-06: 1", "2021-07: 1"]),
        ("documents by day in May 2021", "Counted: documents dated 2021-05-01 to 2021-05-31, by day:", ["2021-05-01 to 2021-05-31: 1"]),
        ("documents by author", "Counted: documents, by author:", ["clerk: 1", "reeve: 1", "–: 5"]),
        ("How many documents mention Vega per year?", "Counted: documents whose text contains “Vega”, by year:", ["2021: 1", "2022: 1"]),
        ("documents by type", "Counted: documents, by type:", ["csv: 3", "md: 2", "txt: 1"]),
    ],
    "dated_documents": [
        ("What is the earliest document?", "Found: the earliest of the dated documents: 1 of 5", ["2020-02-11: Paper 0"]),
        ("When was Tallow Marine first mentioned?", "Found: the first of the dated documents whose text contains “Tallow Marine”: 1 of 2", ["2020-02-11: Paper 0"]),
        ("What is the latest document about Carl Dunn?", "Found: the latest of the dated documents whose text contains “Carl Dunn”: 1 of 2", ["2021-07-01: Paper 4"]),
        ("When was Tallow Marine last mentioned in council?", "Found: the last of the dated documents of the folder council whose text contains “Tallow Marine”: 0 of 0", []),
        ("the latest 2 incidents", "Found: the latest of the dated documents of the file data/incidents.csv: 2 of 3", ["2022-01-01: Paper 5", "2021-07-01: Paper 4"]),
    ],
    "text_units": [
        ("How many passages are there in council?", "Counted: text units of the folder council: 1", ["Paper 2, text unit 0"]),
    ],
    "relationships": [
        ("How many relationships are there?", "Counted: relationships of the graph, each pair of entities once: 6", ["Brine Ltd – Tallow Marine", "Anna Bell – Dock Union", "Carl Dunn – Tallow Marine", "Anna Bell – O'Hara \"'; drop table graph.entities; --", "Anna Bell – Tallow Marine", "Carl Dunn – Brine Ltd"]),
    ],
    "column": [
        ("What is the total cost?", "Computed: total of cost over documents:", ["12.5 (of 2 documents)"]),
        ("maximum cost in 2022", "Computed: maximum of cost over documents dated 2022-01-01 to 2022-12-31:", ["– (of 0 documents)"]),
    ],
    "column_by": [
        ("What is the average cost by ship?", "Computed: average of cost over documents, by ship:", ["Lyra: 2.5 (of 1)", "Vega: 10 (of 1)"]),
    ],
    "column_extremes": [
        ("Which document has the lowest cost?", "Ranked: documents by cost, the lowest first: 2 of 2", ["Paper 4: 2.5", "Paper 3: 10"]),
    ],
    "column_value": [
        ("which documents have the cost 10.0", "Counted: documents whose cost is 10.0: 1", ["Paper 3"]),
        ("How many incidents have the ship Vega?", "Counted: documents of the file data/incidents.csv whose ship is Vega: 2", ["Paper 3", "Paper 5"]),
    ],
    "entities": [
        ("How many organizations are there?", "Counted: entities of type ORGANIZATION: 3", ["Tallow Marine", "Brine Ltd", "Dock Union"]),
        ("How many people are named in documents of the folder council?", "Counted: entities of type PERSON named in documents of the folder council: 1", ["Anna Bell"]),
        ("how many ships and companies exist", "Counted: entities of type VESSEL or ORGANIZATION: 5", ["Tallow Marine", "Vega", "Brine Ltd", "Dock Union", "Lyra"]),
    ],
    "entities_by_type": [
        ("How many entities are there of each type?", "Counted: entities by type:", ["ORGANIZATION: 3", "PERSON: 3", "VESSEL: 2"]),
    ],
    "entities_having": [
        ("How many people have at least two connections?", "Counted: entities of type PERSON with at least two neighbours in the graph: 2", ["Anna Bell: 3 neighbours", "Carl Dunn: 2 neighbours"]),
        ("Which companies are named in more than 2 documents?", "Counted: entities of type ORGANIZATION with more than 2 documents: 1", ["Tallow Marine: 3 documents"]),
    ],
    "occurrences": [
        ("How often is Vega mentioned?", "Counted: how often “Vega” stands in the text of documents:", ["2 times in 2 documents"]),
    ],
    "ranked_entities": [
        ("Which 2 people are most connected?", "Ranked: entities of type PERSON by number of neighbours in the graph: 2 of 3", ["Anna Bell: 3 neighbours", "Carl Dunn: 2 neighbours"]),
        ("What are the most mentioned organisations?", "Ranked: entities of type ORGANIZATION by number of text units: 3 of 3", ["Tallow Marine: 3 text units", "Brine Ltd: 1 text units", "Dock Union: 1 text units"]),
        ("Who appears in most documents in 2021?", "Ranked: entities of type PERSON named in documents dated 2021-01-01 to 2021-12-31 by number of documents: 1 of 1", ["Carl Dunn: 2 documents"]),
    ],
    "relations": [("How many relations are there?", "Counted: relations of the graph, each label between two entities once: 3", ["Carl Dunn opposes Tallow Marine", "Brine Ltd bought by Tallow Marine", "Tallow Marine pays for Brine Ltd"])],
    "relations_by": [("How many relations are there of each type?", "Counted: relations of the graph, by label:", ["bought_by: 1", "opposes: 1", "pays_for: 1"])],
    "relations_of": [("How many relationships does Brine Ltd have?", "Counted: relations of Brine Ltd: 2", ["Brine Ltd bought by Tallow Marine", "Tallow Marine pays for Brine Ltd"])],
    "relations_between": [
        ("Is Carl Dunn connected to Tallow Marine?", "Found: relations between Carl Dunn and Tallow Marine: 1", ["Carl Dunn opposes Tallow Marine"]),
        ("How many relationships are there between Brine Ltd and Tallow Marine?", "Found: relations between Brine Ltd and Tallow Marine: 2", ["Brine Ltd bought by Tallow Marine", "Tallow Marine pays for Brine Ltd"]),
        ("Are Vega and Lyra connected?", "Found: relations between Vega and Lyra: 0", []),
    ],
    "related_by": [
        ("How many companies did Tallow Marine buy?", "Counted: entities of type ORGANIZATION in the relation “bought_by” with Tallow Marine: 1", ["Brine Ltd bought by Tallow Marine"]),
        ("Which companies were bought by Tallow Marine?", "Counted: entities of type ORGANIZATION in the relation “bought_by” with Tallow Marine: 1", ["Brine Ltd bought by Tallow Marine"]),
        ("Who opposed Tallow Marine?", "Counted: entities of type PERSON in the relation “opposes” with Tallow Marine: 1", ["Carl Dunn opposes Tallow Marine"]),
        ("How many companies pay for Brine Ltd?", "Counted: entities of type ORGANIZATION in the relation “pays_for” with Brine Ltd: 1", ["Tallow Marine pays for Brine Ltd"]),
    ],
    "neighbours": [
        ("How many organizations is Anna Bell connected to?", "Counted: entities of type ORGANIZATION connected with Anna Bell: 2", ["Dock Union (ORGANIZATION)", "Tallow Marine (ORGANIZATION)"]),
    ],
    "common_neighbours": [
        ("Who is connected with both Brine Ltd and Tallow Marine?", "Counted: entities of type PERSON connected with each of Brine Ltd and Tallow Marine: 1", ["Carl Dunn (PERSON)"]),
    ],
}  # fmt: skip


def ask(index: IndexSnapshot, question: str, **more: Any) -> Answer:
    return sql(asked_of(index, question, "sql", count=len, **more))


def lines(answer: Answer) -> list[str]:
    return [one.text for one in answer.statements]


@pytest.mark.parametrize(
    ("name", "question", "reading", "rows"),
    [(name, *one) for name, every in ANSWERS.items() for one in every],
)
def test_every_template_counts_what_its_words_say(
    papers: IndexSnapshot, name: str, question: str, reading: str, rows: list[str]
) -> None:
    answer = ask(papers, question)
    assert answer.query
    assert (answer.query.template, answer.refused, answer.usage.calls) == (name, False, 0)
    assert answer.text.splitlines()[0].partition(" [1]")[0] == reading
    assert lines(answer)[0 if reading.endswith(":") else 1 :] == rows
    assert reading.startswith(answer.query.reading)
    assert answer.heading.startswith("By a query")
    assert {number for one in answer.statements for number in one.sources} == set(
        range(1, len(answer.sources) + 1)
    )
    assert all(f"[{one.number}]" in answer.text for one in answer.sources)
    assert answer.unsupported == 0
    json.dumps(answer.to_dict())


def test_every_template_is_tried_and_has_examples_of_its_own() -> None:
    assert set(ANSWERS) == {one.name for one in TEMPLATES}
    assert len({one.name for one in TEMPLATES}) == len(TEMPLATES)
    for template in TEMPLATES:
        for example in template.examples:
            assert any(found.search(example.rstrip("?")) for found in template.patterns) or " 20" in example


def test_rows_are_cited_with_their_table_and_key_and_words_beside_them(papers: IndexSnapshot) -> None:
    answer = ask(papers, "When was Tallow Marine first mentioned?")
    total, row, words = answer.sources
    assert total.evidence == Row(
        "query",
        "total",
        "Found: the first of the dated documents whose text contains “Tallow Marine”",
        {"rows": 2, "shown": 1},
    )
    assert row.evidence == Row(
        "corpus.documents", "d0", "Paper 0",
        {"title": "Paper 0", "path": "news/strike.md", "row": None, "date": "2020-02-11"},
    )  # fmt: skip
    assert isinstance(words.evidence, Words)
    assert words.evidence.quotation == "Tallow Marine refused."
    assert answer.statements[1].sources == (2, 3)
    assert answer.text.endswith("1 other document has no date.")
    assert row.evidence.line == (
        "corpus.documents, row d0: title Paper 0, path news/strike.md, row –, date 2020-02-11"
    )


def test_what_has_no_day_is_told_where_days_count(papers: IndexSnapshot) -> None:
    assert ask(papers, "How many documents in 2021?").text.endswith("1 other document has no date.")
    assert "1 other document has no date." in ask(papers, "How many documents in 1999?").text


def test_the_query_is_shown_with_its_parameters_and_can_be_run_again(
    papers: IndexSnapshot, warehouse: Warehouse
) -> None:
    answer = ask(papers, "How many people are named in documents of the folder council?")
    assert answer.query
    assert answer.query.parameters == {"types": ["PERSON"], "place": "council"}
    assert answer.query.display_text.endswith('\n-- {"types": ["PERSON"], "place": "council"}')
    again = SnapshotQueries(warehouse, "papers", None).run(answer.query, 5)
    assert [row["title"] for row in again.rows] == ["Anna Bell"]


def test_words_with_quotes_and_sql_in_them_are_only_words(papers: IndexSnapshot) -> None:
    answer = ask(papers, "How many documents mention x'; drop table graph.entities; --?")
    assert lines(answer) == ["Counted: documents whose text contains “x'; drop table graph.entities; --”: 0"]
    assert "drop" not in (answer.query.sql if answer.query else "drop")


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("How many organizations is Nobody Here connected to?", "no entity of the graph is called 'Nobody Here'"),
        ("How many documents mention Vega but not Lyra?", "some words without others"),
        ("How many documents mention Vega and when was it built?", "ask that by itself"),
        ('How many documents mention "--"?', "no words that could stand in a text"),
        ("How many ships did Carl Dunn sink?", "the graph has no relation “sink”"),
        ("How many widgets are there?", "'widgets' is no type of entities here; the types are ORGANIZATION, PERSON, VESSEL"),
        ("How many documents are there of 30 February 2021?", "there is no 30 February 2021 in the calendar"),
        ("How many documents are there of 03/04/2021?", "03/04/2021 may be 2021-04-03 or 2021-03-04; write the year first"),
        ("How many documents are there between 2021 and 2019?", "the period ends before it begins"),
        ("How many documents in the folder nowhere?", "no folder or file of this corpus is called 'nowhere'; the folders are council, data, news"),
        ("What is the average author?", "'author' is no column with numbers; the columns are cost"),
        ("documents by colour", "documents cannot be grouped by 'colour'; the columns are author, cost, ship"),
        ("How many relationships are there in 2021?", "this cannot be limited to documents dated"),
        ("Which 0 people are most connected?", "'0' is no number of rows"),
        ("How often are Anna Bell and Vega mentioned?", "looks for 2 names where it can look for 1"),
        ("How many organizations are Anna Bell and Carl Dunn connected to?", "names 2 entities where it can name 1"),
        ("Who led the union?", "the form of no template"),
        ("many", "the form of no template"),
        ("有多少人？", "the form of no template"),
        ("كم عدد الوثائق؟", "the form of no template"),
        ("How many documents mention " + " and ".join(f"Thing {n}" for n in range(20)) + "?", "looks for 20 names where it can look for 10"),
        ("How many documents mention " + " and ".join(f"Thing {n}" for n in range(50)) + "?", "more than 300 characters"),
        ("x" * 4000, "more than 300 characters"),
    ],
)  # fmt: skip
def test_what_no_template_answers_is_refused_with_what_can_be_asked(
    papers: IndexSnapshot, question: str, why: str
) -> None:
    answer = ask(papers, question)
    assert answer.refused
    assert why in (answer.why or "")
    assert "How many organizations are there?" in answer.text
    assert len(answer.text) < 500
    assert (answer.sources, answer.statements, answer.query) == ((), (), None)
    assert match_question(question, papers).score == 0


def test_what_can_be_asked_is_made_of_the_corpus_and_is_answered(papers: IndexSnapshot) -> None:
    known = suggestions(papers)
    assert 4 <= len(known) <= 6
    assert any(title in one for one in known for title in ("Tallow Marine", "Anna Bell", "Brine Ltd"))
    assert any("cost" in one for one in known)
    sample = {example for template in TEMPLATES for example in template.examples}
    assert sample.isdisjoint(one for one in known if "there" not in one)
    assert [one for one in known if ask(papers, one).refused] == []
    bare = replace(
        papers,
        entities=papers.entities.clear(),
        relationships=papers.relationships.clear(),
        periods=papers.periods.clear() if papers.periods is not None else None,
        metadata=papers.metadata.clear() if papers.metadata is not None else None,
    )
    assert suggestions(bare) == ("How many documents are there?",)


def test_a_part_of_one_name_is_taken_for_it_and_said(papers: IndexSnapshot) -> None:
    answer = ask(papers, "How many people is tallow connected to?")
    assert answer.why == "tallow is taken for Tallow Marine"
    assert lines(answer)[0] == "Counted: entities of type PERSON connected with Tallow Marine: 2"
    assert 0 < match_question("How many people is tallow connected to?", papers).score < 1
    assert match_question("How many people is Tallow Marine connected to?", papers).score == 1


@given(
    question=st.text(max_size=80)
    | st.sampled_from([e for t in TEMPLATES for e in t.examples]).map(lambda e: e[3:])
)
def test_any_text_fits_or_not_without_an_error(papers: IndexSnapshot, question: str) -> None:
    found = match_question(question, papers)
    assert (found.score > 0) == (found.recognised is not None)
    assert found.reason


@pytest.mark.parametrize(
    "question",
    [
        "How many documents mention the Dock Union?",
        'how many texts contain "dock union"?',
        "How many of the documents talk about the DOCK UNION?",
        "In how many articles does the Dock Union appear?",
        "How many pages is the Dock Union mentioned in?",
        "The Dock Union is mentioned in how many documents?",
        "Are there any documents that mention the Dock Union?",
        "Could you tell me the number of documents mentioning 'Dóck Union'?",
        "Is the Dock Union mentioned anywhere?",
        "What number of documents use the words Dock Union?",
        'How many documents have the phrase "dock union" in them?',
        "Number of documents in which the Dock Union is named",
    ],
)
def test_documents_that_mention_words_are_counted_however_it_is_asked(
    papers: IndexSnapshot, question: str
) -> None:
    counted, paper = lines(ask(papers, question))
    assert counted.startswith("Counted: documents whose text contains “")
    assert (counted.rpartition(": ")[2], paper) == ("1", "Paper 0")


@pytest.mark.parametrize(
    ("said", "text", "found"),
    [
        ("Lodz", "in ŁÓDŹ.", True),
        ("office", "the oﬃce", True),
        ("Straße", "STRASSE", True),
        ("ilker ışık", "İlker Işık", True),
        ("café", "the cafe\u0301", True),
        ("Anna Bell", "Anna\nBell's boat", True),
        ("Anna Bell", "Anna’s (Bell)", True),
        ("ann", "Anna", False),
        ("Anna Bell", "Anna met Bell", False),
        ("दन", "एक दिन", False),
        ("東京", "私は東京に", True),
    ],
)
def test_words_are_whole_words_in_whatever_case_and_accents(
    papers: IndexSnapshot, said: str, text: str, found: bool
) -> None:
    texts = replace(papers, documents=papers.documents.with_columns(text=pl.lit(text)))
    matched = duckdb.execute("select regexp_matches($1, $2)", [text, pattern_of(said, texts)]).fetchone()
    assert matched == (found,)


_NAMES = {"oxtoby and sons", "the times"}


@pytest.mark.parametrize(
    ("said", "phrases", "either"),
    [
        ("both the Vega and the Lyra", ["Vega", "Lyra"], False),
        ("Oxtoby and Sons and Vega", ["Oxtoby and Sons", "Vega"], False),
        ("The Times", ["The Times"], False),
        ("Vega, Lyra or the Dock Union", ["Vega", "Lyra", "Dock Union"], True),
        ("the words “salt and pepper”", ["salt and pepper"], False),
        ("the word boat", ["boat"], False),
        ("Agda storm", ["Agda storm"], False),
        ("the name of the rose", ["name of the rose"], False),
    ],
)
def test_a_question_looks_for_these_phrases(said: str, phrases: list[str], either: bool) -> None:
    assert phrases_in(said, lambda words: words.lower() in _NAMES) == (phrases, either)


def test_quoted_words_do_not_limit_the_documents(papers: IndexSnapshot) -> None:
    counted = lines(ask(papers, 'How many documents mention "lost an anchor in 2021"?'))[0]
    assert counted == "Counted: documents whose text contains “lost an anchor in 2021”: 0"
    assert "dated" in lines(ask(papers, "How many documents mention Vega in 2021?"))[0]


def test_a_name_of_several_folders_or_tables_is_none_of_them(papers: IndexSnapshot) -> None:
    paths = ["old/council/a.md", "new/council/b.md", "c.txt", *(f"{one}/incidents.csv" for one in "xyy")]
    index = replace(
        papers, documents=papers.documents.sort("document_id").with_columns(path=pl.Series(paths))
    )
    counted = match_question("How many documents are there in the folder council?", index)
    assert counted.reason == "council may be new/council or old/council; write the path"
    of_one = match_question("How many documents are there in the folder old/council?", index)
    assert of_one.reason == "Counted: documents of the folder old/council"
    rows = match_question("How many incidents are there?", index)
    assert rows.reason == "incidents may be x/incidents.csv or y/incidents.csv; write the path"


def test_a_period_within_a_name_limits_nothing(papers: IndexSnapshot) -> None:
    named = papers.entities.with_columns(
        title=pl.when(pl.col("title") == "Vega").then(pl.lit("Vega of 2021")).otherwise("title")
    )
    index = replace(papers, entities=named)
    asked = match_question("How many documents mention the Vega of 2021?", index)
    assert asked.reason == "Counted: documents whose text contains “Vega of 2021”"
    asked = match_question("How many documents mention Lyra of 2021?", index)
    assert asked.reason == "Counted: documents dated 2021-01-01 to 2021-12-31 whose text contains “Lyra”"


def test_the_name_of_a_table_is_a_word_where_the_question_says_documents(papers: IndexSnapshot) -> None:
    counted = lines(ask(papers, "How many documents mention incidents?"))
    assert counted == ["Counted: documents whose text contains “incidents”: 0"]


def test_relations_that_were_read_from_texts_are_not_counted(papers: IndexSnapshot) -> None:
    assert papers.statements is not None
    answer = ask(replace(papers, statements=papers.statements.clear()), "Which firms did Tallow Marine buy?")
    assert answer.why == "relations that were read from texts are not counted, as some may be missing"
    # With the graph of an import, nothing else could answer either.
    assert match_question("How many ships did Carl Dunn sink?", papers).refused


def test_a_query_ends_at_its_limits(papers: IndexSnapshot, warehouse: Warehouse) -> None:
    late = SnapshotQueries(warehouse, "papers", None, QueryLimits(seconds=0.001, raisable=False))
    answer = ask(replace(papers, queries=late), "What is the average cost?")
    assert answer.refused
    assert answer.why == "the query took more than 0.001 s and was stopped; ask for less"
    assert answer.query


def test_an_index_without_a_file_says_so(papers: IndexSnapshot) -> None:
    with pytest.raises(QuestionError, match="opened without its file"):
        ask(replace(papers, queries=None), "How many documents are there?")


def test_no_more_rows_are_shown_than_a_hundred(papers: IndexSnapshot) -> None:
    found = match_question("Which 5000 people are most connected?", papers).recognised
    assert found
    assert found.most == MOST_ROWS
    assert found.query.sql.endswith(f"limit {MOST_ROWS}")
    assert found.scope == DocumentScope()
