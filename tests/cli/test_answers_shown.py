"""How ``ask`` and ``trace`` show what an answer rests on."""

import re

import pytest

from graphrag_dagster.cli.commands.asking import answer_tree, print_answer
from graphrag_dagster.cli.output.console import OUT
from graphrag_dagster.core.search.context.answer import Answer, Source, Statement
from graphrag_dagster.core.search.retrieval.linked import LinkedName
from graphrag_dagster.core.text.evidence import Triple, Words

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
    statements=(Statement("She did.", (1, 2, 3), 0.5, supported=True),),
    linked=(
        LinkedName("Hana", "Hanna", "e1", "near spelling", 0.72, 0.4),
        LinkedName("[Ulm]", None, None, "not linked", 0.0, 0.0, "no entity or document is called so", 3),
    ),
)  # fmt: skip
REMARK = "(extracted; no words were found that name both ends)"


def test_sources_are_printed_with_what_they_rest_on(capsys: pytest.CaptureFixture[str]) -> None:
    print_answer(ANSWER)
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
    names = lines.index("names in the question")
    assert lines[names + 1 : names + 3] == [
        "“Hana” → Hanna near spelling, sure 0.72, weight 0.40",
        "“[Ulm]” not linked; no entity or document is called so",
    ]
    first = lines.index("[1] report “The strike” r1")
    assert lines[first + 1 :] == [
        "finding 1", "entity e1", "text unit u1", "news/s.md, characters 3–37", "“Hanna Quill led the [b]Dockers[/b].”",
        "[2] relationship “Hanna — Union” x1", "text unit u2", "b/staff.csv, row 4", f"Hanna – Union: She led it {REMARK}",
        "[3] entity “Hanna” e1",
    ]  # fmt: skip
