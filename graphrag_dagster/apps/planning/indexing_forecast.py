"""The size of a corpus and the expected time of its index, told before it begins."""

from dataclasses import dataclass

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.models.cache.cache_database import Database, own_database
from graphrag_dagster.kernel.models.call_estimates import Range
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore

#: An index tells of another that is at most so many times as large, or as small.
_ALIKE = 4.0


@dataclass(frozen=True, slots=True)
class Indexing:
    """An index of all files: who did the language tasks, bytes of the files, and seconds."""

    engines: str
    bytes: int
    seconds: float


class Indexings:
    """The last index of all files of each corpus, in the LLM cache file.

    Args:
        database: the file.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def last(self, corpus: str) -> Indexing | None:
        """Return that of a corpus; None where there was none."""
        query = "select engines, bytes, seconds from indexings where corpus = ?"
        with self._database.reading() as connection:
            row = connection.execute(query, (corpus,)).fetchone()
        return Indexing(*row) if row else None

    def seconds_of(self, size: int, engines: str) -> float | None:
        """Return how long an index of so many bytes may take, by the one that is nearest in size.

        A part of the time is the same for any size, the rest grows with it: between the two the square root
        of the ratio is off by a factor of 2 at most, and beyond it nothing is told.
        """
        with self._database.reading() as connection:
            query = "select bytes, seconds from indexings where engines = ?"
            known = connection.execute(query, (engines,)).fetchall()
        ratios = [(max(size, 1) / max(bytes_, 1), seconds) for bytes_, seconds in known]
        near = [(ratio, seconds) for ratio, seconds in ratios if 1 / _ALIKE <= ratio <= _ALIKE]
        if not near:
            return None
        ratio, seconds = min(near, key=lambda one: max(one[0], 1 / one[0]))
        return float(seconds * ratio**0.5)

    def note(self, corpus: str, done: Indexing) -> None:
        """Keep what an index took."""
        self._database.write(
            lambda connection: connection.execute(
                "insert into indexings values (?, ?, ?, ?) on conflict (corpus) do update set "
                "engines = excluded.engines, bytes = excluded.bytes, seconds = excluded.seconds",
                (corpus, done.engines, done.bytes, done.seconds),
            )
        )


@dataclass(frozen=True, slots=True)
class IndexEstimate:
    """What is before an index.

    Attributes:
        files: how many will be read.
        bytes: of these files.
        asks: the model that will be asked; None where none is.
        calls: of the model, where these were planned.
        seconds: how long an index of all files may take, by what was indexed on this machine; None where
            nothing tells.
    """

    files: int
    bytes: int
    asks: str | None = None
    calls: Range | None = None
    seconds: float | None = None


def index_estimate(name: str) -> IndexEstimate:
    """Return what is before an index of a corpus.

    Where a model is asked and the corpus was not indexed by it before, the documents are read and planned.

    Raises:
        GraphragError: the corpus or its settings cannot be used.
    """
    store, known = CorpusStore(), Indexings(own_database())
    settings, sizes = store.settings(name), store.sizes(name)
    total, engines, model = sum(sizes.values()), engines_of(settings), _model(settings)
    last = known.last(name)
    calls = None if model is None or (last and last.engines == engines) else _planned_calls(name)
    return IndexEstimate(len(sizes), total, model, calls, known.seconds_of(total, engines))


def _planned_calls(name: str) -> Range | None:
    from graphrag_dagster.apps.planning.indexing_plan import plan_corpus

    try:
        return sum((one.calls for one in plan_corpus(name).estimates), Range(0, 0, 0))
    except GraphragError:
        # The run itself says what is wrong with the documents.
        return None


def note_indexing(name: str, seconds: float, *, whole: bool = True) -> None:
    """Keep what an index of a corpus took, for the next estimate.

    Args:
        name: of the corpus.
        seconds: that the index took.
        whole: whether nothing was there to be taken over. If something was, the time tells of no other index,
            unless other engines made it.
    """
    store, known = CorpusStore(), Indexings(own_database())
    size, engines = sum(store.sizes(name).values()), engines_of(store.settings(name))
    last = known.last(name)
    if whole or (last is not None and last.engines != engines):
        known.note(name, Indexing(engines, size, seconds))


def engines_of(settings: CorpusSettings) -> str:
    """Return who does the language tasks of an index."""
    chosen = [f"{section} {settings.engine_of(section)}" for section in settings.asked_by_index]
    return ", ".join([*chosen, settings.model.name if _model(settings) else "no model"])


def _model(settings: CorpusSettings) -> str | None:
    asked = any(map(settings.asks_model, settings.asked_by_index))
    return settings.model.for_role("extract").name if asked else None
