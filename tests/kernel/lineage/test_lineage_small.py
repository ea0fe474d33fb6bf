"""Two documents by hand: what every row rests on, and what would go without one of them."""

from pathlib import Path

import polars as pl
import pytest

from graphrag_dagster.apps.evaluation.questions.answer_tables import (
    ANSWER_CITATIONS,
    ANSWER_CONTEXTS,
    ANSWERS,
)
from graphrag_dagster.errors import QuestionError, WarehouseError
from graphrag_dagster.kernel.lineage.lineage_steps import LineageStep
from graphrag_dagster.kernel.questions.answer_rows import AnswerRows
from graphrag_dagster.kernel.questions.context.answer import Answer, Source
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.kernel.text.evidence import Row, Triple
from graphrag_dagster.systems.graphrag.tables import (
    GLEANED_ENTITIES,
    GLEANED_RELATIONSHIPS,
    REPORT_CONTEXT_ROWS,
    REPORT_CONTEXTS,
)
from support.commands import Run
from support.homes import enter_home
from support.lineage import impact, why

ONE = "Ann met Bob. Bob saw Cy."
TWO = "Ann thanked Bob."
_FILL = {"VARCHAR": "", "INTEGER": 0, "BIGINT": 0, "DOUBLE": 0.0, "BOOLEAN": False}


def spans(text: str, *words: str) -> list[dict[str, int]]:
    return [{"start": text.index(word), "end": text.index(word) + len(word)} for word in words]


def mention(unit: str, place: int, name: str, said: str) -> dict[str, object]:
    text = ONE if unit == "u1" else TWO
    return {
        "instance_id": f"{unit}-{place}", "text_unit_id": unit, "position": place, "name": name.upper(),
        "surface": name, "type": "PERSON", "description": said, "spans": spans(text, name),
        "engine": "llm",
    }  # fmt: skip


def statement(
    unit: str, place: int, source: str, target: str, said: str, sentence: str | None
) -> dict[str, object]:
    text = ONE if unit == "u1" else TWO
    return {
        "instance_id": f"{unit}-r{place}", "text_unit_id": unit, "position": place, "source": source,
        "target": target, "description": said, "strength": 1.0, "basis": "model", "engine": "llm",
        "spans": spans(text, sentence) if sentence else [],
    }  # fmt: skip


def entity(number: int, name: str, units: list[str], degree: int) -> dict[str, object]:
    return {
        "entity_id": f"e{number}{name.lower()}", "human_readable_id": number, "name": name.upper(), "title": name,
        "names": [name], "type": "PERSON", "description": f"all of {name}", "description_engine": "llm", "text_unit_ids": units,
        "frequency": len(units), "instances": len(units), "degree": degree,
    }  # fmt: skip


def edge(number: int, source: str, target: str, weight: int, units: list[str]) -> dict[str, object]:
    ids = {"ANN": "e0ann", "BOB": "e1bob", "CY": "e2cy"}
    return {
        "relationship_id": f"r{number}", "human_readable_id": number, "source": source, "target": target,
        "source_id": ids[source], "target_id": ids[target], "description": f"{source} and {target}",
        "description_engine": "llm", "weight": weight, "instances": weight, "text_unit_ids": units,
    }  # fmt: skip


def claim(
    number: int, subject: str, other: str | None, kind: str, said: str, units: list[str]
) -> dict[str, object]:
    return {
        "claim_id": f"m{number}", "human_readable_id": number, "subject": subject, "object": other, "type": kind,
        "status": "TRUE", "description": said, "description_engine": "llm", "text_unit_ids": units,
        "instances": len(units),
    }  # fmt: skip


def shown(position: int, kind: str, number: int, record: str) -> dict[str, object]:
    return {"report_id": "k1", "position": position, "kind": kind, "number": number, "record_id": record}


ROWS: dict[Table, list[dict[str, object]]] = {
    tables.FILES: [
        {"path": "a/one.txt", "status": "read"},
        {"path": "a/two.txt", "status": "read"},
        {"path": "b/copy.txt", "status": "duplicate", "duplicate_of": "a/one.txt"},
    ],
    tables.DOCUMENTS: [
        {"document_id": "d1abc", "human_readable_id": 0, "path": "a/one.txt", "title": "One", "text": "## " + ONE},
        {"document_id": "d2abc", "human_readable_id": 1, "path": "a/two.txt", "title": "Two", "text": TWO},
    ],
    tables.TEXT_CHUNKS: [
        {"text_unit_id": "u1", "human_readable_id": 0, "document_id": "d1abc", "start_char": 3,
         "end_char": 3 + len(ONE), "text": ONE, "strategy": "tokens"},
        {"text_unit_id": "u2", "human_readable_id": 1, "document_id": "d2abc", "end_char": len(TWO), "text": TWO,
         "strategy": "tokens"},
    ],
    GLEANED_ENTITIES: [
        mention("u1", 0, "Ann", "met Bob"), mention("u1", 1, "Bob", "saw Cy"), mention("u1", 2, "Cy", "was seen"),
        mention("u2", 0, "Ann", "met Bob"), mention("u2", 1, "Bob", "was thanked"),
    ],
    GLEANED_RELATIONSHIPS: [
        statement("u1", 0, "ANN", "BOB", "they met", "Ann met Bob."),
        statement("u1", 1, "BOB", "CY", "one saw the other", None),
        statement("u2", 0, "BOB", "ANN", "she thanked him", "Ann thanked Bob."),
    ],
    tables.CLAIMS: [
        {"claim_id": "c1", "text_unit_id": "u1", "subject": "BOB", "object": "CY", "type": "SIGHT",
         "status": "TRUE", "description": "Bob saw Cy", "spans": spans(ONE, "saw Cy"), "engine": "llm"},
        {"claim_id": "c2", "text_unit_id": "u1", "subject": "ANN", "type": "VISIT", "status": "TRUE", "position": 1,
         "description": "She met Bob", "spans": spans(ONE, "met Bob"), "engine": "llm"},
        {"claim_id": "c3", "text_unit_id": "u2", "subject": "ANN", "type": "VISIT", "status": "TRUE",
         "description": "She thanked Bob", "spans": spans(TWO, "thanked Bob"), "engine": "llm"},
    ],
    tables.MERGED_CLAIMS: [
        claim(0, "ANN", None, "VISIT", "Ann met and thanked Bob", ["u1", "u2"]),
        claim(1, "BOB", "CY", "SIGHT", "Bob saw Cy", ["u1"]),
    ],
    tables.ENTITIES: [
        entity(0, "Ann", ["u1", "u2"], 1), entity(1, "Bob", ["u1", "u2"], 2), entity(2, "Cy", ["u1"], 1)
    ],
    tables.RELATIONSHIPS: [edge(0, "ANN", "BOB", 2, ["u1", "u2"]), edge(1, "BOB", "CY", 1, ["u1"])],
    tables.COMMUNITIES: [{"community_id": "k1", "size": 3}],
    tables.COMMUNITY_MEMBERS: [{"community_id": "k1", "entity_id": one} for one in ("e0ann", "e1bob", "e2cy")],
    tables.COMMUNITY_REPORTS: [
        {"report_id": "k1", "title": "Three people", "summary": "They met.", "content": "# Three people",
         "engine": "llm"}
    ],
    tables.REPORT_FINDINGS: [{"report_id": "k1", "position": 0, "summary": "Sight", "explanation": "Bob saw."}],
    tables.REPORT_REFERENCES: [
        {"report_id": "k1", "finding": -1, "position": 0, "kind": "relationship", "record_id": "r0",
         "cited_as": "1", "valid": True},
        {"report_id": "k1", "finding": 0, "position": 0, "kind": "text_unit", "record_id": "u1", "cited_as": "u1",
         "valid": True, "start_char": 13, "end_char": 24},
        {"report_id": "k1", "finding": 0, "position": 1, "kind": "entity", "cited_as": "9", "valid": False},
    ],
    REPORT_CONTEXTS: [{"report_id": "k1", "complete": True}],
    REPORT_CONTEXT_ROWS: [
        shown(0, "entity", 1, "e0ann"), shown(1, "entity", 2, "e1bob"), shown(2, "entity", 3, "e2cy"),
        shown(3, "claim", 1, "m0"), shown(4, "claim", 2, "m1"),
        shown(5, "relationship", 1, "r0"), shown(6, "relationship", 2, "r1"),
    ],
    ANSWERS: [
        {"answer_id": "a1", "question": "Who saw Cy?", "method": "local", "engine": "llm",
         "text": "# Sight\n\nIt is said. Bob saw Cy [1]. Nobody knows more."},
    ],
    ANSWER_CONTEXTS: [
        {"answer_id": "a1", "position": 0, "kind": "entity", "record_id": "e1bob", "title": "Bob", "used": True},
        {"answer_id": "a1", "position": 1, "kind": "source", "record_id": "u2", "title": "Two"},
    ],
    ANSWER_CITATIONS: [
        {"answer_id": "a1", "number": 1, "kind": "report", "record_id": "k1", "finding": 0,
         "via_kind": "relationship", "via_id": "r1", "text_unit_id": "u1", "document_id": "d1abc",
         "start_char": 16, "end_char": 27, "quotation": "Bob saw Cy.", "similarity": 1.0},
    ],
}  # fmt: skip


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return with_tables(tmp_path, *ROWS)


def with_tables(folder: Path, *chosen: Table) -> Warehouse:
    made = Warehouse(path=str(folder / "{corpus}.duckdb"))
    for table in chosen:
        rows = ROWS[table]
        blank = {c.name: None if c.nullable else _FILL.get(c.type, []) for c in table.columns}
        frame = table.frame([blank | row for row in rows])
        made.write(table, "people", _allowed(table, frame))
    return made


def _allowed(table: Table, frame: pl.DataFrame) -> pl.DataFrame:
    """Columns with a closed set of values take one of these where the test leaves them open."""
    open_ = [c for c in table.columns if c.values and not c.nullable]
    return frame.with_columns(
        pl.when(pl.col(c.name) == "").then(pl.lit(next(iter(c.values)))).otherwise(c.name).alias(c.name)
        for c in open_
    )


def quotations(step: LineageStep) -> list[tuple[str, int, int, str, str]]:
    return [(w.path, w.start_char, w.end_char, w.quotation, w.sentence) for w in step.all_evidence()]


def test_an_entity_leads_to_the_sentences_that_name_it(warehouse: Warehouse) -> None:
    step = why(warehouse, "people", "entity", "bob")
    assert (step.id, step.left_out) == ("e1bob", 0)
    assert [below.text for below in step.steps] == ["saw Cy", "was thanked"]
    assert quotations(step) == [
        ("a/one.txt", 11, 14, "Bob", "Ann met Bob."),
        ("a/two.txt", 12, 15, "Bob", "Ann thanked Bob."),
    ]
    cut = why(warehouse, "people", "entity", "bob", most=1)
    assert ([below.id for below in cut.steps], cut.left_out) == (["u1-1"], 1)


def test_a_relationship_leads_to_both_directions(warehouse: Warehouse) -> None:
    step = why(warehouse, "people", "relationship", "bob – ann")
    assert [(below.title, below.text) for below in step.steps] == [
        ("ANN – BOB", "they met"),
        ("BOB – ANN", "she thanked him"),
    ]
    assert [words[3] for words in quotations(step)] == ["Ann met Bob.", "Ann thanked Bob."]


def test_a_record_without_words_shows_the_sentences_that_name_both_ends(warehouse: Warehouse) -> None:
    # Only the first "Bob" has a span, which stands in another sentence than "Cy": the unit is shown whole.
    (words,) = why(warehouse, "people", "relationship", "1").all_evidence()
    assert (words.quotation, words.exact) == (ONE, False)
    gleaned = warehouse.read(GLEANED_ENTITIES, "people")
    moved = pl.when(pl.col("instance_id") == "u1-1").then(
        pl.lit([{"start": 13, "end": 16}], gleaned.schema["spans"])
    )
    warehouse.write(GLEANED_ENTITIES, "people", gleaned.with_columns(spans=moved.otherwise("spans")))
    (words,) = why(warehouse, "people", "relationship", "1").all_evidence()
    assert (words.start_char, words.end_char, words.quotation) == (16, 27, "Bob saw Cy.")
    assert not words.exact


def test_a_claim_leads_to_its_words(warehouse: Warehouse) -> None:
    step = why(warehouse, "people", "claim", "Bob saw Cy")
    assert quotations(step) == [("a/one.txt", 20, 26, "saw Cy", "Bob saw Cy.")]


def test_a_merged_claim_leads_to_the_words_of_all_its_instances(warehouse: Warehouse) -> None:
    step = why(warehouse, "people", "claim", "m0")
    assert (step.title, step.text, step.facts["instances"]) == ("ANN", "Ann met and thanked Bob", 2)
    assert [(one.id, one.text) for one in step.steps] == [("c2", "She met Bob"), ("c3", "She thanked Bob")]
    assert [words[3] for words in quotations(step)] == ["met Bob", "thanked Bob"]


def test_a_report_leads_to_its_context_and_to_what_its_findings_cite(warehouse: Warehouse) -> None:
    context, summary, finding = why(warehouse, "people", "report", "Three people").steps
    assert [(row.kind, row.id) for row in context.steps] == [
        ("entity", "e0ann"), ("entity", "e1bob"), ("entity", "e2cy"), ("relationship", "r0"), ("relationship", "r1"),
        ("claim", "m0"), ("claim", "m1"),
    ]  # fmt: skip
    assert [(row.title, row.facts["number"]) for row in context.steps[1:6:2]] == [
        ("Bob", 2), ("ANN – BOB", 1), ("Ann met and thanked Bob", 1)
    ]  # fmt: skip
    assert [step.id for step in summary.steps] == ["r0"]
    assert [words[3] for words in quotations(summary)] == ["Ann met Bob.", "Ann thanked Bob."]
    quoted, invalid = finding.steps
    assert quotations(quoted) == [("a/one.txt", 16, 27, "Bob saw Cy.", "Bob saw Cy.")]
    assert (invalid.id, invalid.facts) == ("", {"valid": False})


def test_an_answer_leads_from_each_statement_to_the_words(warehouse: Warehouse) -> None:
    context, cited, uncited = why(warehouse, "people", "answer", "Who saw Cy?").steps
    assert [row.id for row in context.steps] == ["e1bob", "u2"]
    assert (cited.title, uncited.title) == ("It is said. Bob saw Cy", "Nobody knows more.")
    (report,) = cited.steps
    (finding,) = report.steps
    (relationship,) = finding.steps
    (unit,) = relationship.steps
    assert [(s.kind, s.id) for s in (report, finding, relationship, unit)] == [
        ("report", "k1"), ("finding", "k1:0"), ("relationship", "r1"), ("text_unit", "u1")
    ]  # fmt: skip
    assert quotations(unit) == [("a/one.txt", 16, 27, "Bob saw Cy.", "Bob saw Cy.")]
    assert uncited.steps == ()


def test_a_cited_relationship_without_words_is_shown_as_a_triple(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter_home(monkeypatch, tmp_path)
    made = with_tables(tmp_path / "warehouse", *ROWS)
    wordless = dict.fromkeys(
        ("finding", "via_kind", "via_id", "text_unit_id", "document_id", "start_char", "end_char", "quotation",
         "similarity")
    )  # fmt: skip
    (row,) = made.read(ANSWER_CITATIONS, "people").to_dicts()
    bare = row | wordless | {"kind": "relationship", "record_id": "r1"}
    made.write(ANSWER_CITATIONS, "people", ANSWER_CITATIONS.frame([bare]))
    _, cited, _ = why(made, "people", "answer", "Who saw Cy?").steps
    (triple,) = cited.all_evidence()
    assert triple == Triple(
        "r1", "e1bob", "Bob", "BOB and CY", "e2cy", "Cy", "d1abc", "One", "a/one.txt", None, "u1"
    )
    code, out, _ = run("why", "people", "answer", "Who saw Cy?")
    assert code == 0
    told = "a/one.txt: Bob – Cy: BOB and CY (extracted; no words were found that name both ends)"
    assert told in " ".join(out.replace("│", " ").split())


def test_a_cited_row_is_shown_with_its_values(tmp_path: Path) -> None:
    made = with_tables(tmp_path / "warehouse", *ROWS)
    rows = AnswerRows("s", "o")
    evidence = Row("corpus.documents", "d1abc", "One", {"title": "One", "n": 2})
    rows.add(0, "Who?", "sql", Answer("Who?", "sql", None, "Two [1]", "extractive", sources=(Source(1, "row", "d1abc", "One", evidence=evidence),)))  # fmt: skip
    frame = ANSWER_CITATIONS.frame(rows.rows()[3])
    (known,) = made.read(ANSWER_CITATIONS, "people").to_dicts()
    made.write(ANSWER_CITATIONS, "people", frame.with_columns(answer_id=pl.lit(known["answer_id"])))
    _, cited, _ = why(made, "people", "answer", "Who saw Cy?").steps
    assert list(cited.all_evidence()) == [evidence]
    assert frame["document_id"].to_list() == ["d1abc"]


def test_what_would_go_without_the_first_document(warehouse: Warehouse) -> None:
    found = impact(warehouse, "people", "a/one.txt")
    assert found.copies == ["b/copy.txt"]
    assert found.text_units["text_unit_id"].to_list() == ["u1"]
    counted = ("gone", "text_units", "text_units_after")
    assert found.entities.select("entity_id", *counted).rows() == [
        ("e2cy", True, 1, 0),
        ("e0ann", False, 2, 1),
        ("e1bob", False, 2, 1),
    ]
    assert found.relationships.select("relationship_id", *counted).rows() == [
        ("r1", True, 1, 0),
        ("r0", False, 2, 1),
    ]
    assert found.claims.select("claim_id", "object", *counted).rows() == [
        ("m1", "CY", True, 1, 0),
        ("m0", None, False, 2, 1),
    ]
    assert found.communities.select("community_id", "size", "size_after").rows() == [("k1", 3, 2)]
    assert found.reports.select("report_id", "shown", "holds").rows() == [("k1", 7, True)]
    assert found.answers.select("answer_id", "citations", "shown").rows() == [("a1", 1, 1)]
    assert found.counts() == {
        "text_units_gone": 1, "entities_gone": 1, "entities_less": 2, "relationships_gone": 1,
        "relationships_less": 1, "claims_gone": 1, "claims_less": 1, "communities_less": 1, "context_nodes_gone": 0, "reports_holding": 1,
        "answers_citing": 1, "descriptions_again": 4, "reports_again": 1,
        "summaries_again": 0,
    }  # fmt: skip


def test_what_would_go_without_the_second_document(warehouse: Warehouse) -> None:
    found = impact(warehouse, "people", "Two")
    assert found.entities.select("entity_id", "gone").rows() == [("e0ann", False), ("e1bob", False)]
    assert found.relationships.select("relationship_id", "text_units_after").rows() == [("r0", 1)]
    assert found.claims.select("claim_id", "gone").rows() == [("m0", False)]
    assert found.communities.is_empty()
    assert found.answers.select("citations", "shown").rows() == [(0, 2)]


def test_only_what_a_context_shows_counts(warehouse: Warehouse) -> None:
    whole = warehouse.read(REPORT_CONTEXT_ROWS, "people")
    for rows, counts in ((whole.head(1), [1]), (whole.clear(), [])):
        warehouse.write(REPORT_CONTEXT_ROWS, "people", rows)
        assert impact(warehouse, "people", "d1abc").reports["shown"].to_list() == counts


def test_a_context_where_only_a_combined_degree_changes_is_written_again(warehouse: Warehouse) -> None:
    whole = warehouse.read(REPORT_CONTEXT_ROWS, "people")
    rest = warehouse.read(tables.RELATIONSHIPS, "people").with_columns(
        text_unit_ids=pl.when(pl.col("relationship_id") == "r0").then(["u2"]).otherwise("text_unit_ids")
    )
    warehouse.write(tables.RELATIONSHIPS, "people", rest)
    warehouse.write(REPORT_CONTEXT_ROWS, "people", whole.filter(pl.col("record_id") == "r0"))
    found = impact(warehouse, "people", "a/one.txt").reports
    assert found.select("report_id", "shown", "holds").rows() == [("k1", 0, False)]


def test_a_context_that_shows_an_affected_report_is_affected(warehouse: Warehouse) -> None:
    def add(table: Table, *rows: dict[str, object]) -> None:
        (first, *_) = warehouse.read(table, "people").to_dicts()
        kept = warehouse.read(table, "people").to_dicts()
        warehouse.write(table, "people", table.frame([*kept, *(first | row for row in rows)]))

    parents = ({"community_id": "k0", "level": 0}, {"community_id": "root", "level": 0})
    add(tables.COMMUNITIES, *parents)
    communities = warehouse.read(tables.COMMUNITIES, "people").with_columns(
        level=pl.col("community_id").replace_strict({"k1": 2, "k0": 1, "root": 0}),
        parent_id=pl.col("community_id").replace_strict({"k1": "k0", "k0": "root", "root": None}),
    )
    warehouse.write(tables.COMMUNITIES, "people", communities)
    add(tables.COMMUNITY_REPORTS, {"report_id": "k0", "level": 1}, {"report_id": "root"})
    add(
        REPORT_CONTEXT_ROWS,
        shown(0, "report", 1, "k1") | {"report_id": "k0"},
        shown(0, "report", 1, "k0") | {"report_id": "root"},
    )
    found = impact(warehouse, "people", "a/one.txt").reports
    assert found.select("report_id", "shown", "holds").sort("report_id").rows() == [
        ("k0", 1, True),
        ("k1", 7, True),
        ("root", 1, True),
    ]


@pytest.mark.parametrize("asked", ["e1bob", "1", "BOB", " bob ", "e1bo"])
def test_a_row_is_found_by_id_number_name_or_beginning(warehouse: Warehouse, asked: str) -> None:
    assert why(warehouse, "people", "entity", asked).id == "e1bob"


def test_unknown_and_ambiguous_ids_name_near_ones(warehouse: Warehouse) -> None:
    with pytest.raises(QuestionError, match=r"no entity 'bobb'; did you mean 'Bob' \(e1bob\)"):
        why(warehouse, "people", "entity", "bobb")
    with pytest.raises(QuestionError, match="no document 'three.txt'.* 'a/"):
        impact(warehouse, "people", "three.txt")
    documents = warehouse.read(tables.DOCUMENTS, "people").with_columns(
        document_id=pl.col("document_id").replace({"d1abc": "dddd1", "d2abc": "dddd2"}), title=pl.lit("Same")
    )
    warehouse.write(tables.DOCUMENTS, "people", documents)
    with pytest.raises(QuestionError, match="'dddd' fits 2 rows; give the id of one document"):
        impact(warehouse, "people", "dddd")
    assert impact(warehouse, "people", "Same").documents["document_id"].to_list() == ["dddd1", "dddd2"]
    warehouse.write(tables.MERGED_CLAIMS, "people", tables.MERGED_CLAIMS.empty())
    with pytest.raises(QuestionError, match="there is none at all"):
        why(warehouse, "people", "claim", "c1")
    with pytest.raises(WarehouseError, match="has not been indexed"):
        impact(warehouse, "nowhere", "x")
