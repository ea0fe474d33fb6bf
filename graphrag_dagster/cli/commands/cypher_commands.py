"""``graphrag-dagster cypher``."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer
from rich.text import Text

from graphrag_dagster.apps.cypher.property_graph import CorpusGraph, GraphRows
from graphrag_dagster.apps.cypher.settings import CypherSettings
from graphrag_dagster.apps.cypher.text_to_cypher import CypherAnswer
from graphrag_dagster.cli.commands.sql_commands import row_parts, write_csv
from graphrag_dagster.cli.options import Csv, FormulaSafe, Name
from graphrag_dagster.cli.result import Part, Result
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.index import Index
from graphrag_dagster.kernel.questions.corpus_index import settings_for_questions
from graphrag_dagster.kernel.storage.sql_sandbox import ResultRows
from graphrag_dagster.kernel.storage.warehouse import Warehouse

_PARAMETER = re.compile(r"\$?(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>.*)", re.DOTALL)
_MORE = "there may be more: the query gives no further rows than these; ask for others with SKIP"


def run_cypher(
    name: Name,
    query: Annotated[str | None, typer.Argument(help="One query in openCypher that only reads.")] = None,
    ask: Annotated[str | None, typer.Option(help="A question instead of a query.")] = None,
    param: Annotated[
        list[str] | None, typer.Option(help="A value of a $name: JSON, else a text.", metavar="NAME=VALUE")
    ] = None,
    csv: Csv = None,
    formula_safe: FormulaSafe = False,
) -> Result:
    """Run a query over a corpus's graph; its rows are shown, or written to a CSV file.

    Raises:
        QuestionError: neither a query nor a question is given, or both; or it is refused, fails or reaches a
            limit.
        GraphragError: the graph cannot be made or reached.
    """
    if (query is None) == (ask is None):
        raise QuestionError("give a query, or a question with --ask; one of them")
    facts: Any
    answer: list[Part] = []
    if ask is not None:
        if param:
            raise QuestionError("--param is for a query; leave it out with --ask")
        found = Index.open(name).ask_graph(ask)
        answer, ran, facts = _answer_parts(found), found.ran, answer_object(found)
    else:
        graph = CorpusGraph(Warehouse(), name, settings_for_questions(name).section(CypherSettings))
        ran = graph.run(str(query), dict(_parameters(param or ())))
        facts = list(ran.found.objects())
    rows = _result(ran.found)
    shown = write_csv(csv, rows, formula_safe=formula_safe) if csv else row_parts(rows)
    return Result(facts, [*answer, *shown, *([_MORE] if ran.found.more else [])])


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


def _answer_parts(answer: CypherAnswer) -> list[Part]:
    who = "a model" if answer.template is None else f"the template {answer.template}"
    doubts = [Text(one, "yellow") for one in (*answer.guessed, *answer.problems)]
    given = json.dumps(dict(answer.ran.parameters), ensure_ascii=False)
    query = f"{answer.ran.text}\n{given}" if answer.ran.parameters else answer.ran.text
    return [f"{answer.reading}, by {who}", *doubts, "", query, ""]


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
