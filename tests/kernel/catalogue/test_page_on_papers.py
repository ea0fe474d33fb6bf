"""docs/explanation/papers: what the pages name exists, and their commands run."""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer

from graphrag_dagster.cli.app import app
from graphrag_dagster.cli.job_runner import run_job
from support.commands import Run
from support.corpora import write_corpus
from support.films import SETTINGS as FILMS
from support.films import write_films
from support.homes import copy_home, shared_home
from support.shared import REPOSITORY

FOLDER = REPOSITORY / "docs" / "explanation" / "papers"
#: Each paper as the table of experiments calls it, with the page that goes through it line by line.
PAPERS = {
    "GraphRAG": "graphrag.md",
    "LEGO-GraphRAG": "lego-graphrag.md",
    "CoTeRAG-S": "coterag.md",
    "Context-aware Leiden": "context-aware-leiden.md",
}
PAGE, *PAGES = ((FOLDER / name).read_text(encoding="utf-8") for name in ("index.md", *PAPERS.values()))
EXPERIMENTS = PAGE.split("\n## Experiments\n")[1]
ROWS = "\n".join(PAGES)
COMMAND = "graphrag-dagster "
STATES = ("right", "deviates:", "needs a model")

#: Everything that the experiments on documents need, small.
COAST = """
coterag: {profile: calibrated}
context: {alpha: 2}
questions: {methods: [C0, SS, coterag, graph], personas: 1, tasks: 1, per_task: 2}
studies:
  chunk_sizes: [40, 80]
  windows: [300, 600]
  questions: 2
  context: {resolutions: [1.0], alphas: [], lambda_max: [], densities: [], embeddings: []}
"""
#: As the page says of the tables of switches and faster subgraphs.
CUSTOM = """  instances: ['1', '12', '14']
  custom:
    - {name: triple level, retrieval: isar, judged: eem, switches: {triple_level: true}}
    - {name: refined, retrieval: isar, judged: eem, switches: {refine: true}}
    - {name: windows, retrieval: osar, judged: llm, switches: {window: 2}}
    - {name: small, retrieval: osar, judged: eem, max_ent: 3}
    - {name: fora, extraction: fora, retrieval: osar, judged: eem}
    - {name: parts, extraction: partition, retrieval: osar, judged: eem}
    - {name: vectors, extraction: node_vectors, retrieval: osar, judged: eem}
"""


def cells(text: str) -> Iterator[list[str]]:
    """The rows of all tables of a text, without their heads."""
    lines = text.splitlines()
    for line, before in zip(lines[1:], lines, strict=False):
        if line.startswith("| ") and not line.startswith("| ---") and before.startswith("| "):
            yield [cell.strip() for cell in re.split(r"(?<!\\) \| ", f" {line[1:-1]} ")]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def commands(paper: str) -> list[str]:
    rows = [row for row in cells(EXPERIMENTS) if row[0] == f"[{paper}]({PAPERS[paper]})"]
    found = [code for row in rows for code in quoted(" ".join(row)) if code.startswith(COMMAND)]
    return list(dict.fromkeys(found))


@cache
def known_tests() -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in (REPOSITORY / "tests").rglob("test_*.py")}


def test_every_row_says_where_it_stands_and_how() -> None:
    rows = list(cells(ROWS))
    assert len(rows) > 190
    for row in rows:
        assert len(row) == 5, row
        assert row[4].startswith(STATES), row
        assert row[1] != "–" or row[4].startswith("deviates"), row


def test_every_experiment_has_one_command() -> None:
    rows = list(cells(EXPERIMENTS))
    assert len(rows) > 30
    for row in rows:
        assert len(row) == 7, row
        assert len(quoted(row[2])) == 1, row
        assert quoted(row[2])[0].startswith(COMMAND), row


def test_the_code_that_is_named_exists() -> None:
    for _, where, *_ in cells(ROWS):
        for one in quoted(where):
            name, _, symbol = one.partition(":")
            path = REPOSITORY / "graphrag_dagster" / name
            assert path.exists(), one
            found = rf"^(?:(?:async )?def|class) {symbol}\b|^{symbol}\b.*="
            assert not symbol or re.search(found, path.read_text(encoding="utf-8"), re.MULTILINE), one


def test_the_tests_that_are_named_exist() -> None:
    for row in cells(ROWS):
        for one in quoted(row[3]):
            name, _, function = one.partition("::")
            assert name in known_tests(), one
            assert f"def {function}(" in known_tests()[name] or not function, one


def test_the_keys_that_are_named_are_settings() -> None:
    settings = (REPOSITORY / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    known = set(re.findall(r"^\| \*{0,2}`([\w.]+)`", settings, re.MULTILINE))
    for row in cells(ROWS):
        for one in quoted(row[2]):
            assert one.startswith(COMMAND) or one in known, one


def test_the_commands_that_are_named_are_understood() -> None:
    group = typer.main.get_command(app)
    context = typer.Context(group)
    named = set(re.findall(r"`(graphrag-dagster [^`]+)`", "\n".join([PAGE, *PAGES])))
    assert len(named) > 15
    for one in named:
        name, *arguments = shlex.split(one)[1:]
        command = group.get_command(context, name)
        assert command, one
        _, left, _ = command.make_parser(typer.Context(command)).parse_args(arguments)
        assert not left, one


@pytest.fixture
def papers_home(tmp_path_factory: pytest.TempPathFactory, home: Path) -> Path:
    """A home with a corpus of documents and one that is a graph, both indexed."""

    def fill(made: Path) -> None:
        write_corpus(made / "corpora", settings=COAST)
        write_films(made, f"{FILMS}{CUSTOM}")
        run_job("coast")
        run_job("films")

    return copy_home(shared_home(tmp_path_factory, "papers", fill), home)


@pytest.mark.long
@pytest.mark.parametrize(
    ("papers", "corpus", "question"),
    [
        (("GraphRAG", "CoTeRAG-S", "Context-aware Leiden"), "coast", "Who led the Dockers Union?"),
        (("LEGO-GraphRAG",), "films", "who directed [Alien]"),
    ],
)
def test_the_experiments_run(
    papers: tuple[str, ...], corpus: str, question: str, papers_home: Path, run: Run
) -> None:
    given = {"NAME": corpus, "QUESTION": question, "FILE": str(papers_home / "chats.jsonl")}
    found = {paper: commands(paper) for paper in papers}
    assert all(found.values())
    for one in dict.fromkeys(command for each in found.values() for command in each):
        # It needs an extra, and minutes.
        if "--folder" in one:
            continue
        code, out, err = run(*(given.get(word, word) for word in shlex.split(one)[1:]))
        assert code == 0, f"{one}\n{out}{err}"
        assert out.strip(), one
