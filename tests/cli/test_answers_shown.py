"""How ``ask`` and ``trace`` show what an answer rests on."""

import re
from dataclasses import replace

import pytest

from graphrag_dagster.cli.commands.ask_commands import answer_parts, answer_tree
from graphrag_dagster.cli.console import OUT
from graphrag_dagster.cli.result import say
from graphrag_dagster.kernel.questions.context.answer import Answer, Source, Statement, entity, facts, section
from graphrag_dagster.kernel.storage.queries import Query
from graphrag_dagster.kernel.text.evidence import Row, Triple, Words

WORDS = Words(
    "d1", "The [strike]", "news/s.md", "u1", 3, 37, "Hanna Quill led\nthe [b]Dockers[/b].", after=" So."
)
TRIPLE = Triple("x1", "e1", "Hanna", "She led it", "e2", "Union", "d2", "staff", "b/staff.csv", 4, "u2")
ANSWER = Answer(
    "Who?", "local", None, "She did. [1][2][3]", "llm",
    sources=(
        Source(1, "report", "r1", "The strike", 0, "entity", "e1", WORDS, 0.5),
        Source(2, "relationship", "x1", "Hanna — Union", evidence=TRIPLE),
        Source(3, "entity", "e1", "Hanna"),
    ),
    statements=(Statement("She did.", (1, 2, 3), 0.5, "supported", 0.5),),
    trace=(
        facts("Found", named="[Hana]", rows=1200, near=0.5, whole=True, blank=None),
        section("Names", ("name", "taken for", "sure"), [("Hana", entity("e1", "Hanna"), 0.72), ("[Ulm]", None, 0.0)]),
    ),
)  # fmt: skip
DOUBTFUL = replace(
    ANSWER,
    statements=(
        Statement(
            "She did [so].", (1,), 0.5, "partly", 0.4, "the name [Ida] does not stand in the cited words"
        ),
        Statement("She did it " + "again and " * 20, (), 0.0, "not", 0.0, "it cites nothing"),
        Statement("She did.", (1,), 1.0, "supported", 1.0),
        Statement("Unions strike.", (), 0.0, None, general=True),
    ),
)
REMARK = "(extracted; no words were found that name both ends)"


def test_sources_are_printed_with_what_they_rest_on(capsys: pytest.CaptureFixture[str]) -> None:
    for part in answer_parts(ANSWER):
        say(part)
    lines = capsys.readouterr().out.splitlines()
    first = lines.index("[1] news/s.md “The [strike]” characters 3–37 similarity 0.50")
    assert lines[first + 1 : first + 5] == [
        "    “Hanna Quill led the [b]Dockers[/b].”",
        "[2] b/staff.csv row 4",
        f"    Hanna – Union: She led it {REMARK}",
        "[3] entity “Hanna”",
    ]


def test_the_tree_leads_to_what_a_statement_rests_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # What the environment said when the console was made would hold otherwise.
    monkeypatch.setattr(OUT, "_width", 200)
    OUT.print(answer_tree(ANSWER))
    lines = [re.sub(r"^[│├└─\s]+", "", line).rstrip() for line in capsys.readouterr().out.splitlines()]
    found = lines.index("Found")
    assert lines[found + 1 : found + 8] == [
        "named: [Hana]", "rows: 1,200", "near: 0.5", "whole: yes",
        "Names", "Hana taken for Hanna, sure 0.72", "[Ulm] sure 0",
    ]  # fmt: skip
    first = lines.index("[1] report “The strike” r1")
    assert lines[first + 1 :] == [
        "finding 1", "entity e1", "text unit u1", "news/s.md, characters 3–37", "“Hanna Quill led the [b]Dockers[/b].”",
        "[2] relationship “Hanna — Union” x1", "text unit u2", "b/staff.csv, row 4", f"Hanna – Union: She led it {REMARK}",
        "[3] entity “Hanna” e1",
    ]  # fmt: skip


def test_statements_that_are_not_supported_are_printed_with_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for part in answer_parts(DOUBTFUL):
        say(part)
    lines = capsys.readouterr().out.splitlines()
    first = lines.index("partly supported: “She did [so].” the name [Ida] does not stand in the cited words")
    assert lines[first + 1].startswith("not supported: “She did it again and")
    assert lines[first + 1].endswith("…” it cites nothing")
    assert len(lines[first + 1]) < 140
    assert lines[first + 2] == "of 4 statements 1 not supported and 1 partly supported by the words they cite"
    for part in answer_parts(ANSWER):
        say(part)
    assert "supported" not in capsys.readouterr().out


def test_the_tree_says_what_is_supported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OUT, "_width", 400)
    OUT.print(answer_tree(DOUBTFUL))
    told = capsys.readouterr().out
    assert "She did [so]. partly supported the name [Ida] does not stand" in told
    assert "not supported it cites nothing" in told
    assert "She did. supported 1.00" in told
    assert "Unions strike. general knowledge" in told


COUNTED = Answer(
    "How many [people]?", "sql", None, "Counted: people: 2 [1]", "extractive",
    sources=(Source(1, "row", "d1", "The [strike]", evidence=Row("corpus.documents", "d1", "The [strike]", {"n": 2, "p": "a [b]"})),),
    statements=(Statement("Counted: people: 2", (1,), 1.0, "supported", 1.0),),
    query=Query("entities", "Counted: people", "select n[1]\nfrom t", {"types": ["PERSON"]}),
)  # fmt: skip


def test_a_query_is_printed_below_its_rows(capsys: pytest.CaptureFixture[str]) -> None:
    for part in answer_parts(COUNTED):
        say(part)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert "By a query over the tables of the index; no model was asked." in lines
    first = lines.index("[1] corpus.documents “The [strike]” row d1")
    assert lines[first + 1 : first + 6] == [
        "    n 2, p a [b]", "", "select n[1]", "from t", '-- {"types": ["PERSON"]}',
    ]  # fmt: skip


def test_the_tree_has_the_query_and_the_row(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OUT, "_width", 200)
    OUT.print(answer_tree(COUNTED))
    lines = [re.sub(r"^[│├└─\s]+", "", line).rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[lines.index("query") + 1] == "select n[1]"
    assert lines[lines.index("[1] row “The [strike]” d1") + 1 :] == [
        "corpus.documents, row d1",
        "n 2, p a [b]",
    ]
