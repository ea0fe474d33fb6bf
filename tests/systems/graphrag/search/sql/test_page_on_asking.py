"""The figures on the page about questions to the tables are those of the sample corpus."""

import re
import shutil
from pathlib import Path

import pytest

from graphrag_dagster import Index
from graphrag_dagster.cli.job_runner import run_job

REPOSITORY = Path(__file__).parents[5]
PAGE = (REPOSITORY / "docs" / "reference" / "sql-questions.md").read_text("utf-8")


@pytest.mark.long
def test_the_questions_of_the_page_have_these_answers(home: Path) -> None:
    shutil.copytree(REPOSITORY / "graphrag_dagster" / "sample" / "harbour", home / "corpora" / "harbour")
    run_job("harbour")
    index = Index.open("harbour")
    told = re.findall(r"^\| (.+?) \| (\w+: .+?) \|$", PAGE, re.MULTILINE)
    answers = {question: index.ask(question, method="sql").text for question, _ in told}
    assert {
        question: text.splitlines()[0].removesuffix(" [1]") for question, text in answers.items()
    } == dict(told)
    (shown,) = re.findall(r'ask harbour "(.+?)" --method sql\n```\n\n```text\n(.+?)\n…', PAGE, re.DOTALL)
    answer = index.ask(shown[0], method="sql")
    lines = [line.strip().replace("•", "-") for line in shown[1].splitlines() if line.strip()]
    assert lines == [answer.heading, *filter(None, answer.text.splitlines())]
    assert len(told) > 10
