"""How long the last index of each corpus took."""

from dataclasses import dataclass

from graphrag_dagster.model_calls.memory.database import Database


@dataclass(frozen=True, slots=True)
class Indexing:
    """An index that was finished: who did the language tasks, bytes of the files, and seconds."""

    engines: str
    bytes: int
    seconds: float


class Indexings:
    """The last index of each corpus, in the file of remembered replies.

    Args:
        database: the file.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def last(self, corpus: str) -> Indexing | None:
        """Return the last index of a corpus; None where there was none."""
        query = "select engines, bytes, seconds from indexings where corpus = ?"
        with self._database.reading() as connection:
            row = connection.execute(query, (corpus,)).fetchone()
        return Indexing(*row) if row else None

    def note(self, corpus: str, done: Indexing) -> None:
        """Keep what an index took."""
        with self._database.writing() as connection:
            connection.execute(
                "insert or replace into indexings values (?, ?, ?, ?)",
                (corpus, done.engines, done.bytes, done.seconds),
            )
