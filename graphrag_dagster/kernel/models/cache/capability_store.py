"""Detected capabilities of endpoints, cached for a day."""

import json
import time
from dataclasses import asdict

from pydantic import TypeAdapter, ValidationError

from graphrag_dagster.kernel.models.cache.database import Database
from graphrag_dagster.kernel.models.endpoint.bodies import Abilities

_KEPT_SECONDS = 86_400.0
_READ = TypeAdapter(Abilities)


class AbilityStore:
    """Abilities and paces by URL and model in the LLM cache file; no URL has credentials.

    Args:
        database: the file.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, url: str, model: str) -> Abilities | None:
        """Return what was found out within the last day, else None; ``url`` is without credentials."""
        with self._database.reading() as connection:
            row = connection.execute(
                "select abilities from abilities where url = ? and model = ? and at > ?",
                (url, model, time.time() - _KEPT_SECONDS),
            ).fetchone()
        try:
            return _READ.validate_json(row[0]) if row else None
        except ValidationError:
            # Of another version of this program: found out anew.
            return None

    def put(self, url: str, model: str, abilities: Abilities) -> None:
        """Keep what was found out now; ``url`` is without credentials."""
        with self._database.writing() as connection:
            connection.execute(
                "insert or replace into abilities values (?, ?, ?, ?)",
                (url, model, json.dumps(asdict(abilities)), time.time()),
            )

    def get_pace(self, url: str, model: str) -> float | None:
        """Return the seconds that a token took when it was last measured; None where it never was."""
        query = "select seconds_per_token from paces where url = ? and model = ?"
        with self._database.reading() as connection:
            row = connection.execute(query, (url, model)).fetchone()
        return row[0] if row else None

    def put_pace(self, url: str, model: str, seconds_per_token: float) -> None:
        """Keep the seconds that a token takes."""
        with self._database.writing() as connection:
            connection.execute(
                "insert or replace into paces values (?, ?, ?)", (url, model, seconds_per_token)
            )
