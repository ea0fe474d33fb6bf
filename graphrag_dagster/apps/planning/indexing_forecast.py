"""The size of a corpus and the expected time of its index, told before it begins."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.catalogue.registry import engines
from graphrag_dagster.kernel.models.cache.cache_database import Database, own_database
from graphrag_dagster.kernel.models.cache.llm_cache import CapabilityStore
from graphrag_dagster.kernel.models.call_estimates import Estimate, Range
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore

#: Seconds that a run takes whatever is in it, and that a megabyte takes the extractive engine, as measured on
#: two cores (``benchmarks/index.py``); and what other machines may make of it.
_RUN, _MEGABYTE, _MACHINES = 8.0, 19.0, Range(0.6, 1.0, 3.0)
#: Reading a token costs a model this share of writing one.
_READING = 1 / 16


def extractive_seconds(size: int) -> Range:
    """Return the seconds of an index of so many bytes of text without a model."""
    return _MACHINES * (_RUN + _MEGABYTE * size / 1e6)


def model_seconds(estimates: Iterable[Estimate], seconds_per_token: float, concurrency: int) -> Range:
    """Return the seconds that a model takes for what is planned.

    Args:
        estimates: what is planned.
        seconds_per_token: what a token has taken.
        concurrency: most calls at once; how many of them an endpoint answers at once nobody knows, so the
            lowest number is that of an endpoint that answers all of them, the highest that of one that
            answers one after the other.
    """
    total = Range(0.0, 0.0, 0.0)
    for one in estimates:
        total = total + (one.output_tokens + one.input_tokens * _READING)
    return total * seconds_per_token * Range(1 / concurrency, 1 / concurrency**0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Indexing:
    """An index that was finished: who did the language tasks, bytes of the files, and seconds."""

    engines: str
    bytes: int
    seconds: float


class Indexings:
    """The last index of each corpus, in the LLM cache file.

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
        self._database.write(
            lambda connection: connection.execute(
                "insert into indexings values (?, ?, ?, ?) on conflict (corpus) do update set "
                "engines = excluded.engines, bytes = excluded.bytes, seconds = excluded.seconds",
                (corpus, done.engines, done.bytes, done.seconds),
            )
        )


#: Bytes of a word with its space; of formats that hold more than text nobody knows before they are read.
_WORD = 6
_PLAIN = frozenset({".txt", ".md", ".html", ".htm", ".csv", ".json", ".jsonl"})


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is before an index.

    Attributes:
        files: how many will be read.
        bytes: of these files.
        words: of the files that are plain text, about; None where there are others.
        asks: the model that will be asked; None where none is.
        calls: of the model, where these were planned.
        seconds: how long it may take; None where nothing tells.
        last: the last index of the corpus, where the same engines did it.
    """

    files: int
    bytes: int
    words: int | None
    asks: str | None = None
    calls: Range | None = None
    seconds: Range | None = None
    last: Indexing | None = None


def outlook(name: str) -> Outlook:
    """Return what is before an index of a corpus.

    Where a model is asked and the corpus was not indexed by it before, the documents are read and planned.

    Raises:
        GraphragError: the corpus or its settings cannot be used.
    """
    store = CorpusStore()
    settings, sizes = store.settings(name), store.sizes(name)
    total = sum(sizes.values())
    plain = all(PurePosixPath(path).suffix.lower() in _PLAIN for path in sizes)
    words = total // _WORD if plain else None
    last = Indexings(own_database()).last(name)
    if last and last.engines == engines_of(settings):
        return Outlook(len(sizes), total, words, _model(settings), last=last)
    if (model := _model(settings)) is None:
        seconds = None if _has_models_here(settings) else extractive_seconds(total)
        return Outlook(len(sizes), total, words, seconds=seconds)
    from graphrag_dagster.apps.planning.indexing_plan import plan_corpus

    try:
        estimates = plan_corpus(name).estimates
    except GraphragError:
        # The run itself says what is wrong with the documents.
        return Outlook(len(sizes), total, words, model)
    calls = sum((one.calls for one in estimates), Range(0, 0, 0))
    pace, seconds = _seconds_per_token(settings), None
    if pace is not None and not _has_models_here(settings):
        asked = model_seconds(estimates, pace, settings.model.concurrency)
        seconds = asked + extractive_seconds(total)
    return Outlook(len(sizes), total, words, model, calls, seconds)


def note_indexing(name: str, seconds: float) -> None:
    """Keep what an index of a corpus took, for the next outlook."""
    store = CorpusStore()
    size = sum(store.sizes(name).values())
    done = Indexing(engines_of(store.settings(name)), size, seconds)
    Indexings(own_database()).note(name, done)


def engines_of(settings: CorpusSettings) -> str:
    """Return who does the language tasks of an index."""
    chosen = [f"{section} {settings.engine_of(section)}" for section in settings.asked_by_index]
    return ", ".join([*chosen, settings.model.name if _model(settings) else "no model"])


def _model(settings: CorpusSettings) -> str | None:
    asked = any(map(settings.asks_model, settings.asked_by_index))
    return settings.model.for_role("extract").name if asked else None


def _has_models_here(settings: CorpusSettings) -> bool:
    """Whether models on this machine do language tasks: how fast it is at that nobody knows."""
    return any(engines()[settings.engine_of(section)].models for section in settings.asked_by_index)


def _seconds_per_token(settings: CorpusSettings) -> float | None:
    # Half of what telling takes, and most tell of no model or of the last index.
    from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel

    model = OpenAIChatModel(settings.model.for_role("extract"))
    store = CapabilityStore(own_database())
    return model.connection.pace.seconds_per_token or store.get_pace(model.connection.shown_url, model.name)
