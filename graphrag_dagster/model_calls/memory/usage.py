"""The account of every run: written with each call, so that a killed run has its bill too."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from graphrag_dagster.core.accounting.use import USE_FIELDS, ModelUse
from graphrag_dagster.model_calls.memory.database import Database
from graphrag_dagster.tables import MODEL_USAGE

if TYPE_CHECKING:
    from graphrag_dagster.model_calls.memory.replies import User

_KEY = ("run_id", "corpus", "asset", "task", "model")
_SUMS = ", ".join(f"{name} = {name} + excluded.{name}" for name in USE_FIELDS)
_NAMES = ", ".join((*_KEY, "begun", *USE_FIELDS))
_MARKS = ", ".join("?" * (len(_KEY) + 1 + len(USE_FIELDS)))
_INSERT = (
    f"insert into usage ({_NAMES}) values ({_MARKS}) "
    f"on conflict (corpus, run_id, asset, task, model) do update set {_SUMS}"
)
#: Prompts of an asset that did not arrive whole when it was last made.
_UNREAD = (
    "select u.task, u.model, count(*), max(u.sent), max(u.arrived) from unread_prompts u join finished f "
    "on f.corpus = u.corpus and f.asset = u.asset and u.at >= f.begun where u.corpus = ? "
    "group by u.task, u.model order by u.task, u.model"
)


@dataclass(frozen=True, slots=True)
class Unread:
    """Prompts of one task of which a server read only a part; tokens are those of the longest."""

    task: str
    model: str
    prompts: int
    sent: int
    arrived: int


class UsageLog:
    """The accounts in one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, user: "User", task: str, model: str, use: ModelUse) -> None:
        """Add what a call took to the account of its run, asset, task and model."""
        values = [getattr(use, name) for name in USE_FIELDS]
        row = (user.run_id, user.corpus, user.asset, task, model, time.time(), *values)
        self._database.write_soon(lambda connection: connection.execute(_INSERT, row))

    def of_run(self, corpus: str, run_id: str) -> ModelUse:
        """Return what a run has used so far."""
        return sum((use for _, use in self._rows(corpus, run_id)), ModelUse())

    def by_task(self, corpus: str, run_id: str) -> dict[tuple[str, str, str], ModelUse]:
        """Return what a run has used by asset, task and model."""
        return dict(self._rows(corpus, run_id))

    def written(self, task: str, model: str) -> tuple[int, int]:
        """Return the calls of a task to a model in all accounts, and the tokens of their replies."""
        query = "select sum(calls), sum(output_tokens) from usage where task = ? and model = ?"
        with self._database.reading() as connection:
            calls, tokens = connection.execute(query, (task, model)).fetchone()
        return calls or 0, tokens or 0

    def table(self, corpus: str) -> pl.DataFrame:
        """Return all accounts of a corpus as rows of ``usage.model_usage``."""
        names = ("run_id", "asset", "task", "model", "begun", *USE_FIELDS)
        query = f"select {', '.join(names)} from usage where corpus = ?"
        with self._database.reading() as connection:
            rows = connection.execute(query, (corpus,)).fetchall()
        return MODEL_USAGE.frame([_row(dict(zip(names, row, strict=True))) for row in rows])

    def unread(self, corpus: str) -> list[Unread]:
        """Return the prompts of what was last made of a corpus of which a server read only a part."""
        with self._database.reading() as connection:
            return [Unread(*row) for row in connection.execute(_UNREAD, (corpus,))]

    def _rows(self, corpus: str, run_id: str) -> list[tuple[tuple[str, str, str], ModelUse]]:
        query = (
            f"select asset, task, model, {', '.join(USE_FIELDS)} from usage "
            "where corpus = ? and run_id = ? order by begun, asset, task, model"
        )
        with self._database.reading() as connection:
            rows = connection.execute(query, (corpus, run_id)).fetchall()
        return [((row[0], row[1], row[2]), ModelUse(*row[3:])) for row in rows]


def _row(kept: dict[str, Any]) -> dict[str, Any]:
    begun = datetime.fromtimestamp(kept["begun"], UTC).isoformat(timespec="milliseconds")
    usd = None if kept.pop("unpriced") else round(kept["usd"], 9)
    return {**kept, "begun": begun, "usd": usd, "seconds": round(kept["seconds"], 6)}
