"""The verdicts and fields on the page about answers are those that the program gives."""

import dataclasses
import re
from pathlib import Path

from graphrag_dagster.kernel.models.local_embedders import shared_static
from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.questions.context.index_background import Support
from graphrag_dagster.kernel.tasks.answering_ports import Cited

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "answers.md").read_text(encoding="utf-8")


def test_the_statements_have_these_verdicts() -> None:
    words = re.search(r'^Against "(.+?)":', PAGE, re.MULTILINE)
    assert words
    told = re.findall(r"^\| (.+?) \| (\w+) \| (\d\.\d\d) \| (.*?) ?\|$", PAGE, re.MULTILINE)
    judged = Support(shared_static()).judged([Cited(row[0], (words[1],), "") for row in told]).items
    found = [(one.verdict, f"{one.score:.2f}", one.reason) for one in judged]
    assert found == [row[1:] for row in told]
    assert {row[1] for row in told} == {"supported", "partly", "not"}


def test_it_lists_every_field_of_the_json() -> None:
    fields = PAGE.partition("\n## JSON fields\n")[2].partition("\n## ")[0]
    listed = {
        name for row in re.findall(r"^\| (`.+?) \|", fields, re.MULTILINE) for name in row.split("`")[1::2]
    }
    answer = Answer("", "local", None, "", "extractive").to_dict()
    # What a source has of evidence has a row of its own.
    assert listed - {"evidence"} == set(answer)
    assert {one.name for one in dataclasses.fields(Answer)} <= listed
