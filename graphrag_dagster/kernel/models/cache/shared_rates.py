"""Rates of an endpoint, shared by all processes that share an LLM cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphrag_dagster.kernel.models.cache.rounds import Rounds
from graphrag_dagster.kernel.models.endpoint.rate_limits import Bucket

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphrag_dagster.kernel.models.cache.cache_database import Database
    from graphrag_dagster.kernel.models.endpoint.endpoint_connection import Connection

_TAKE = (
    "insert into rates (url, model, kind, level, at) values (?, ?, ?, ?, ?) on conflict (url, model, kind) "
    "do update set level = excluded.level, at = excluded.at"
)


def share_rates(connection: Connection, database: Database) -> None:
    """Have the rates that are set for a connection, if any, hold in all processes together."""
    requests, tokens = connection.rates
    if requests is not None or tokens is not None:
        connection.shared = SharedRates(database, connection.shown_url, connection.model, requests, tokens)


class SharedRates:
    """A :class:`.RateStore` in the database, by its clock.

    Args:
        database: that the processes share.
        url: of the endpoint, without credentials.
        model: whose rates these are.
        requests: a minute; None does not limit.
        tokens: a minute; None does not limit.
    """

    def __init__(
        self, database: Database, url: str, model: str, requests: int | None, tokens: int | None
    ) -> None:
        self._database = database
        self._where = (url, model)
        self._per_minute = {"requests": requests, "tokens": tokens}
        self._rounds = Rounds(database, self._ask, undo=self._undo)

    async def draw(self, calls: Sequence[int]) -> tuple[int, float]:
        """Take the room of the first calls that there is room for, which have so many tokens each.

        Returns:
            Their number, and the seconds until there is room for the next.
        """
        return await self._rounds.ask(tuple(calls))

    def give_back(self, tokens: int, requests: int = 0) -> None:
        """Give back what was not needed; a negative number takes more."""
        rows = [(requests, *self._where, "requests"), (tokens, *self._where, "tokens")]
        self._database.write_soon(
            lambda connection: connection.executemany(
                "update rates set level = level + ? where url = ? and model = ? and kind = ?", rows
            )
        )

    def _undo(self, calls: Sequence[int], drawn: tuple[int, float]) -> None:
        self.give_back(sum(calls[: drawn[0]]), drawn[0])

    def _ask(self, questions: Sequence[Sequence[int]]) -> list[tuple[int, float]]:
        return self._database.write(lambda connection: self._draw(connection, questions))

    def _draw(self, connection: Any, questions: Sequence[Sequence[int]]) -> list[tuple[int, float]]:
        now = connection.execute(f"select {self._database.backend.now}").fetchone()[0]
        rows = connection.execute(
            "select kind, level, at from rates where url = ? and model = ?", self._where
        ).fetchall()
        buckets = {kind: Bucket(rate, lambda: now) for kind, rate in self._per_minute.items()}
        for kind, level, at in rows:
            buckets[kind].resume(level, at)
        answers = [_admitted(buckets["requests"], buckets["tokens"], calls) for calls in questions]
        connection.executemany(
            _TAKE, [(*self._where, kind, bucket.level, now) for kind, bucket in buckets.items()]
        )
        return answers


def _admitted(requests: Bucket, tokens: Bucket, calls: Sequence[int]) -> tuple[int, float]:
    for number, size in enumerate(calls):
        if (wait := max(requests.wait(1), tokens.wait(size))) > 0:
            return number, wait
        requests.take(1)
        tokens.take(size)
    return len(calls), 0.0
