"""``graphrag-dagster answer``: the Dagster job ``answer``, run in this process."""

import polars as pl

from graphrag_dagster.apps.evaluation.questions.question_list import questions_of
from graphrag_dagster.apps.evaluation.questions.question_tables import TESTSET_DOCUMENTS
from graphrag_dagster.apps.evaluation.settings import QuestionSettings
from graphrag_dagster.apps.evaluation.stages.evaluation_plan import plan_answers_of
from graphrag_dagster.cli.commands.ask_commands import filters_of
from graphrag_dagster.cli.commands.plan_commands import agree_to_spend
from graphrag_dagster.cli.job_runner import run_watched
from graphrag_dagster.cli.options import (
    Date,
    DateFrom,
    DateTo,
    Documents,
    Folders,
    MaxTokens,
    MaxUsd,
    Name,
    Soft,
    Where,
    Yes,
)
from graphrag_dagster.cli.result import Frame, Part, Result
from graphrag_dagster.cli.run_budget import INCOMPLETE, RunBudget
from graphrag_dagster.cli.run_summary import ANSWERED, repaired_line, repaired_rows
from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import ANSWERS


def require_questions(store: CorpusStore, name: str) -> None:
    """Do nothing where a corpus has questions or has some written.

    Raises:
        SettingsError: it has none and writes none.
    """
    own = store.settings(name).section(QuestionSettings)
    if own.write == "never" and not own.testset.enabled and not questions_of(store.folder(name), own):
        raise SettingsError(
            f"corpus {name!r} has no questions; list them in its corpus.yaml under questions.ask, name a "
            "file of them in questions.file, or have some written with questions.write: when_none or "
            "questions.testset.enabled: true"
        )


def missing_answers(warehouse: Warehouse, name: str) -> list[str]:
    """What questions and answers lack of what a model was to give; empty where nothing is missing."""
    testset = warehouse.read_if_present(TESTSET_DOCUMENTS, name)
    unwritten = 0 if testset is None else int((testset["wanted"] - testset["written"]).sum())
    lost = {
        "questions of the testset could not be written: see questions.testset_documents": unwritten,
        "answers lack partial answers (no usable reply): see answers.answers": int(
            warehouse.read(ANSWERS, name)["problems"].count()
        ),
    }
    return [f"{count:,} {what}" for what, count in lost.items() if count]


def answer_corpus(
    name: Name,
    document: Documents = None,
    folder: Folders = None,
    date_from: DateFrom = None,
    date_to: DateTo = None,
    date: Date = None,
    where: Where = None,
    soft: Soft = None,
    max_usd: MaxUsd = None,
    max_tokens: MaxTokens = None,
    yes: Yes = False,
) -> Result:
    """Answer the corpus's questions from the documents that are meant.

    The exit code is 3 where something that a model was to give is missing.

    Raises:
        SettingsError: the corpus has no questions.
        GraphragError: names the problem and the fix.
    """
    store, warehouse = CorpusStore(), Warehouse()
    filters = filters_of(document, folder, date_from, date_to, date, where, soft)
    budget = RunBudget(max_tokens, max_usd)
    require_questions(store, name)
    agree_to_spend(plan_answers_of(name), budget, yes=yes)
    run_watched(name, "answer", budget, resources={"filters": {"given": filters.to_dict()}})
    made = (
        warehouse.read(ANSWERS, name)
        .group_by("method")
        .agg(
            pl.len().alias("answers"),
            pl.col("refused").sum().cast(pl.Int64),
            pl.col("statements", "partly_supported", "unsupported", "removed_citations").sum(),
        )
        .sort("method")
    )
    missing = missing_answers(warehouse, name)
    repaired = repaired_rows(warehouse, name, ANSWERED)
    line = repaired_line(repaired)
    shown: list[Part] = [
        Frame(made, f"{name}: answers"),
        f"tables: answers.* in {warehouse.file(name)}",
        *([line] if line else []),
    ]
    facts = {"corpus": name, "answers": made, "missing": missing, "repaired": repaired}
    return Result(facts, shown, missing, INCOMPLETE if missing else 0)
