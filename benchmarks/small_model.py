"""Does the graph help a small model? Its answers by search method, beside the gold ones.

    python benchmarks/small_model.py --url http://127.0.0.1:8080/v1 --name MODEL [--sets NAME …]
        [--methods NAME …] [--questions N] [--context TOKENS] [--work FOLDER] [--json FILE]
    python benchmarks/small_model.py --read FILE

Each set of ``question_sets.py`` is indexed without a model, so that all methods have the same graph, and
asked through ``Index.ask`` with a model that answers from contexts of so many tokens, as briefly as it can.
The model measured was Qwen2.5-Coder-1.5B-Instruct (Q4_K_M), served by llama.cpp on one core.

*EM*, *F1*: the answer, without citations, beside the nearest gold answer, as words without articles and
punctuation; *holds*: a gold answer is in it; only sets with gold answers have them. *supported*: of an
answer's statements the share that cite words that support them, by the rules of the setting
``search.support``; *partly*: or a part of them; an answer that was refused has none and counts 0. Differences
are those to the first method over the same questions, with 95 % bootstrap intervals.

Every question is asked by each method in turn, and ``--json`` keeps what came so far, so that a run that ends
early leaves pairs. Replies are in the LLM cache of ``--work``, so the same command goes on.
"""

import argparse
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median

import retrieval
from left_out import indexed, sample
from measuring import interval, table
from question_sets import SETS

from graphrag_dagster import Index
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.systems.lego.studies.answer_metrics import normalise_answer

METHODS = ("basic", "local", "paths", "global", "coterag")
_BRIEFLY = "only the answer itself, in as few words as possible"
_CITATION = re.compile(r"\s*\[[\d, ]+\]")


@dataclass(frozen=True)
class Row:
    """What a method answered to a question.

    Attributes:
        set: of the question.
        method: the search method.
        id: of the question.
        text: the answer without citations; blank if it was refused.
        golds: gold answers; none if the set has none.
        verdicts: of the statements: ``supported``, ``partly``, ``not`` or None (nothing was cited).
        calls: requests to the model.
        seconds: that the answer took.
    """

    set: str
    method: str
    id: str
    text: str
    golds: Sequence[str]
    verdicts: Sequence[str | None]
    calls: int
    seconds: float


def gold_answers(name: str) -> dict[str, list[str]]:
    """Return the gold answers of a set of multi-hop questions by the question; nothing for other sets."""
    section = retrieval.SECTIONS.get(name.partition("-")[0])
    if section is None or section == "2wikimultihopqa":
        return {}
    rows = json.loads((retrieval.PASSAGES / f"{section}.json").read_text(encoding="utf-8"))
    return {row["question"]: [row["answer"], *row.get("answer_aliases", ())] for row in rows}


def f1(said: str, gold: str) -> float:
    """Return the F1 of the words of an answer and of a gold one, each as often as it occurs."""
    ours, right = (Counter(normalise_answer(text).split()) for text in (said, gold))
    shared = (ours & right).total()
    return 2 * shared / (ours.total() + right.total()) if shared else 0.0


def _holds(row: Row) -> float:
    said = f" {normalise_answer(row.text)} "
    return float(any(f" {normalise_answer(gold)} " in said for gold in row.golds))


def _share(row: Row, *counted: str) -> float:
    return mean(verdict in counted for verdict in row.verdicts) if row.verdicts else 0.0


MEASURES: dict[str, Callable[[Row], float]] = {
    "EM": lambda row: float(any(normalise_answer(row.text) == normalise_answer(gold) for gold in row.golds)),
    "F1": lambda row: max(f1(row.text, gold) for gold in row.golds),
    "holds": _holds,
    "supported": lambda row: _share(row, "supported"),
    "partly": lambda row: _share(row, "supported", "partly"),
}
_WITH_GOLD = ("EM", "F1", "holds")


def ask(index: Index, name: str, method: str, identity: str, question: str, golds: Sequence[str]) -> Row:
    """Ask a question; one that cannot be asked so counts as refused."""
    try:
        answer = index.ask(question, method=method)
    except QuestionError as error:
        print(f"{name}, {method}: {question!r}: {error}")
        return Row(name, method, identity, "", golds, (), 0, 0.0)
    text = "" if answer.refused else _CITATION.sub("", answer.text).strip()
    verdicts = () if answer.refused else tuple(one.verdict for one in answer.statements)
    return Row(name, method, identity, text, golds, verdicts, answer.usage.calls, answer.seconds or 0.0)


def measured(given: argparse.Namespace, home: Path) -> Iterator[Row]:
    """Yield what each method answers to each question."""
    model = {"base_url": given.url, "name": given.name, "concurrency": 1, "timeout_seconds": 1200}
    search = {"engine": "llm", "context_tokens": given.context, "response_type": _BRIEFLY}
    settings = {"embeddings": {"embedder": "static"}, "model": model, "search": search}
    for name in given.sets:
        index = indexed(home, SETS[name], settings)
        answers = gold_answers(name)
        for question in sample(SETS[name].questions(), "all", given.questions):
            for method in given.methods:
                row = ask(index, name, method, question.id, question.text, answers.get(question.text, ()))
                print(
                    f"{name}, {method}: {question.text}\n  {row.text!r}; right: {list(row.golds)}", flush=True
                )
                yield row


def told(rows: Sequence[Row]) -> Iterator[list[str]]:
    """Yield the cells of the table, a row for each set and method."""
    of: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        of.setdefault((row.set, row.method), {})[row.id] = row
    first = dict(reversed(list(of)))
    for (name, method), own in of.items():
        cells = []
        base = of[name, first[name]]
        for measure, value in MEASURES.items():
            if measure in _WITH_GOLD and not all(row.golds for row in own.values()):
                cells.append("–")
                continue
            cell = f"{mean(map(value, own.values())):.3f}"
            if own is not base:
                both = [key for key in own if key in base]
                cell += f"; {interval([value(own[key]) - value(base[key]) for key in both])}"
            cells.append(cell)
        refused = sum(not row.text for row in own.values())
        calls = mean(row.calls for row in own.values())
        seconds = median(row.seconds for row in own.values())
        yield [name, method, str(len(own)), *cells, str(refused), f"{calls:.1f}", f"{seconds:.0f}"]


def main() -> None:
    """Ask or read, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", help="OpenAI-compatible base URL")
    parser.add_argument("--name", help="of the model there")
    parser.add_argument(
        "--sets", nargs="*", choices=list(SETS), default=["hotpotqa-titled", "musique-titled"]
    )
    parser.add_argument("--methods", nargs="*", default=list(METHODS), metavar="NAME")
    parser.add_argument("--questions", type=int, default=50, metavar="N")
    parser.add_argument("--context", type=int, default=1200, metavar="TOKENS")
    parser.add_argument("--work", type=Path, metavar="FOLDER")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--read", type=Path, metavar="FILE")
    given = parser.parse_args()
    for variable in ("GRAPHRAG_DAGSTER_CORPORA", "GRAPHRAG_DAGSTER_WAREHOUSE", "OPENAI_BASE_URL"):
        os.environ.pop(variable, None)
    rows: list[Row] = []
    if given.read:
        rows = [Row(**row) for row in json.loads(given.read.read_text(encoding="utf-8"))]
    elif not given.url or not given.name:
        parser.error("--url and --name say which model is asked; or --read a file of answers")
    else:
        with tempfile.TemporaryDirectory() as made:
            for row in measured(given, (given.work or Path(made)).resolve()):
                rows.append(row)
                if given.json:
                    given.json.write_text(json.dumps([asdict(one) for one in rows]), encoding="utf-8")
    columns = ["set", "method", "n", *MEASURES, "refused", "calls", "s p50"]
    table(columns, told(rows))


if __name__ == "__main__":
    main()
