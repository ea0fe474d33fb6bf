"""The parts of an index that are made before its steps."""

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

from graphrag_dagster.core.corpus.documents import CorpusContents, require_documents
from graphrag_dagster.core.corpus.text_units import cut
from graphrag_dagster.core.progress import Listener
from graphrag_dagster.engines.session import Session
from graphrag_dagster.model_calls.memory.replies import User
from graphrag_dagster.operations.keeping.extracting import CorpusExtraction, extract_corpus
from graphrag_dagster.operations.keeping.extractions import state_of
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.reply_memory import ReplyMemory
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.settings import CorpusSettings
from graphrag_dagster.tables import DOCUMENTS

EXTRACTION = "extraction"


@dataclass(frozen=True, slots=True)
class Made:
    """Who extracted what, where it was in this process, and the state in which it was."""

    extraction: CorpusExtraction
    state: pl.DataFrame
    session: Session | None = None


class Share(NamedTuple):
    """Which of how many equal shares of the text units a process extracts."""

    place: int
    number: int

    def of(self, units: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of the share: those of the first one come first in the corpus."""
        begin, end = (units.height * place // self.number for place in (self.place, self.place + 1))
        return units.sort("human_readable_id")[begin:end]


ALL = Share(0, 1)
Part = CorpusContents | pl.DataFrame | Made


class Said(Listener):
    """What is said while nobody writes the log of the run."""

    def __init__(self) -> None:
        self._lines: list[str] | None = []

    def say(self, line: str) -> None:
        """Keep it."""
        if self._lines is not None:
            self._lines.append(line)

    def taken(self) -> list[str]:
        """Return what was said so far; nothing is kept from now on."""
        lines, self._lines = self._lines, None
        return lines or []


@dataclass(frozen=True, slots=True)
class BegunIndex:
    """The parts of an index that was begun with some settings; one is None where its step has to make it."""

    settings: CorpusSettings
    contents: "Future[CorpusContents | None]" = field(default_factory=Future)
    units: "Future[pl.DataFrame | None]" = field(default_factory=Future)
    made: "Future[Made | None]" = field(default_factory=Future)
    said: Said = field(default_factory=Said)

    def take(self, part: Part) -> None:
        """Take note of a part that is made."""
        if isinstance(part, CorpusContents):
            self.contents.set_result(part)
        elif isinstance(part, pl.DataFrame):
            self.units.set_result(part)
        else:
            self.made.set_result(part)

    def end(self, error: BaseException | None) -> None:
        """Have the steps of all parts that are not there meet with an error; None leaves these to them."""
        for part in (self.contents, self.units, self.made):
            if not part.done():
                part.set_exception(error) if error else part.set_result(None)


def begun_parts(
    settings: CorpusSettings, corpus: str, run_id: str, code: str, share: Share = ALL
) -> Iterator[Part]:
    """What an index begins with, in the order of its steps; of the extraction a share."""
    store, warehouse = CorpusStore(), Warehouse()
    contents = store.read(corpus)
    yield contents
    if not warehouse.exists(DOCUMENTS, corpus):
        require_documents(contents, store.folder(corpus))
    units = cut(contents.documents, **settings.text_units.model_dump())
    yield units
    language = Language(memory=ReplyMemory(), corpora=store)
    session = language.session_of(settings, User(corpus, EXTRACTION, run_id))
    state = state_of(settings, code)
    yield Made(extract_corpus(session, warehouse, corpus, share.of(units), state), state, session)
