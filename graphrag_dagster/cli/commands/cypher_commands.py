"""``graphrag-dagster cypher``."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.markup import escape

from graphrag_dagster.apps.cypher.property_graph import CorpusGraph, GraphQueryRun, GraphRows
from graphrag_dagster.apps.cypher.settings import CypherSettings
from graphrag_dagster.apps.cypher.text_to_cypher import CypherAnswer
from graphrag_dagster.cli.commands.sql_commands import print_rows, write_csv
from graphrag_dagster.cli.console import OUT, print_json
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.index import Index
from graphrag_dagster.kernel.questions.corpus_index import settings_for_questions
from graphrag_dagster.kernel.storage.sql_sandbox import ResultRows
from graphrag_dagster.kernel.storage.warehouse import Warehouse

_PARAMETER = re.compile(r"\$?(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>.*)", re.DOTALL)
_MORE = "there may be more: the query gives no further rows than these; ask for others with SKIP"


@dataclass(frozen=True, slots=True)
class CypherOptions:
    """What is asked: a query with ``name=value`` for its parameters, or a question in plain words."""

    query: str | None = None
    question: str | None = None
    parameters: tuple[str, ...] = ()


def run_cypher(
    name: str, given: CypherOptions, *, csv: Path | None, formula_safe: bool, as_json: bool
) -> None:
    """Run a query over a corpus's graph, and print its rows, or write them to a CSV file.

    Raises:
        QuestionError: neither a query nor a question is given, or both; it is refused, fails or reaches a
            limit; or the file cannot be written.
        GraphragError: the graph cannot be made or reached.
    """
    if (given.query is None) == (given.question is None):
        raise QuestionError("give a query, or a question with --ask; one of them")
    if given.question is not None:
        if given.parameters:
            raise QuestionError("--param is for a query; leave it out with --ask")
        answer = Index.open(name).ask_graph(given.question)
        if as_json:
            print_json(answer_object(answer))
            return
        _print_answer(answer)
        ran = answer.ran
    else:
        graph = CorpusGraph(Warehouse(), name, settings_for_questions(name).section(CypherSettings))
        ran = graph.run(str(given.query), dict(_parameters(given.parameters)))
        if as_json:
            print_json(list(ran.found.objects()))
            return
    if csv:
        write_csv(csv, _result(ran.found), formula_safe=formula_safe)
    else:
        print_rows(_result(ran.found))
    if ran.found.more:
        OUT.print(_MORE)


def answer_object(answer: CypherAnswer) -> dict[str, Any]:
    """Return an answer as JSON has it."""
    return {
        "question": answer.question,
        "reading": answer.reading,
        "template": answer.template,
        "guessed": answer.guessed,
        "query": answer.ran.text,
        "parameters": dict(answer.ran.parameters),
        "columns": answer.ran.found.columns,
        "rows": list(answer.ran.found.objects()),
        "more": answer.ran.found.more,
        "problems": answer.problems,
    }


def _print_answer(answer: CypherAnswer) -> None:
    who = "a model" if answer.template is None else f"the template {answer.template}"
    OUT.say(f"{escape(answer.reading)}, by {who}")
    OUT.warn(*answer.guessed, *answer.problems)
    OUT.print()
    OUT.say(query_text(answer.ran), markup=False, highlight=False)
    OUT.print()


def query_text(ran: GraphQueryRun) -> str:
    """Return a query as people read it, its parameters in the last line."""
    given = json.dumps(dict(ran.parameters), ensure_ascii=False)
    return f"{ran.text}\n{given}" if ran.parameters else ran.text


def _parameters(given: Iterable[str]) -> Iterator[tuple[str, Any]]:
    for one in given:
        found = _PARAMETER.fullmatch(one)
        if not found:
            raise QuestionError(f"--param {one!r} has no form NAME=VALUE; a name has letters, digits and _")
        yield found["name"], _value(found["value"])


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text


def _result(found: GraphRows) -> ResultRows:
    numeric = [
        all(isinstance(row[place], int | float) for row in found.rows) for place in range(len(found.columns))
    ]
    return ResultRows(list(found.columns), numeric, map(list, found.rows))
