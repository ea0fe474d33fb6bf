"""What is begun of an index while what runs its steps is still being loaded.

Files are read, and text units cut and extracted, as the steps will do it; each step takes what was begun for
it, where that was made of the very rows that the step is given. A model is asked in a thread, which waits
most of the time. What is done by rule takes a processor, and so a process of its own; a large corpus has
processes for it anyway, beside which the time that loading takes is nothing.
"""

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from multiprocessing.connection import Connection
from threading import Thread

import polars as pl

from graphrag_dagster.core.corpus.documents import CorpusContents, require_documents
from graphrag_dagster.core.corpus.text_units import cut
from graphrag_dagster.core.language.extractive.parsing.languages import begin_loading_detector
from graphrag_dagster.core.language.extractive.parsing.pipeline import load_pipeline
from graphrag_dagster.core.processes import begin_process
from graphrag_dagster.core.progress import Listener, Relay, Told, listening, retell
from graphrag_dagster.core.waiting import wait_for_a_call
from graphrag_dagster.engines.session import Session
from graphrag_dagster.errors import GraphragError
from graphrag_dagster.model_calls.memory.replies import User
from graphrag_dagster.operations.keeping.extracting import CorpusExtraction, extract_corpus
from graphrag_dagster.operations.keeping.extractions import state_of
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.reply_memory import ReplyMemory
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.settings import CorpusSettings
from graphrag_dagster.tables import DOCUMENTS

#: Bytes of a corpus that one process extracts by rule in the time that two need for more.
_SMALL = 500_000
_EXTRACTION = "extraction"
_RULES = "extractive"
#: Seconds for which the first call is waited for at most.
_PATIENCE = 3.0
#: What asking a model takes, loaded while files are read.
_ASKING = (
    "graphrag_dagster.core.language.llm.extraction.graph",
    "graphrag_dagster.model_calls.batches.batching",
    "graphrag_dagster.model_calls.endpoint.client",
)
#: What the steps after the extraction load.
_FOLLOWING = (
    "graphrag_dagster.core.resolution.frames",
    "graphrag_dagster.core.graph.layout.arranging",
    "graphrag_dagster.core.reports.build",
    "graphrag_dagster.operations.exploring.explorer",
)


@dataclass(frozen=True, slots=True)
class _Made:
    """Who extracted what, where it was in this process, and the state in which it was."""

    extraction: CorpusExtraction
    state: pl.DataFrame
    session: Session | None = None


class _Said(Listener):
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
class _Index:
    """The parts of an index that was begun with some settings; one is None where its step has to make it."""

    settings: CorpusSettings
    contents: "Future[CorpusContents | None]" = field(default_factory=Future)
    units: "Future[pl.DataFrame | None]" = field(default_factory=Future)
    made: "Future[_Made | None]" = field(default_factory=Future)
    said: _Said = field(default_factory=_Said)

    def end(self, error: BaseException | None) -> None:
        """Have the steps of all parts that are not there meet with an error; None leaves these to them."""
        for part in (self.contents, self.units, self.made):
            if not part.done():
                part.set_exception(error) if error else part.set_result(None)


#: By the id of the run.
_begun: dict[str, _Index] = {}


def begin_index(corpus: str, run_id: str, code: str, *, limited: bool) -> None:
    """Begin what a run will do first, where that gains time, else what it will need.

    Args:
        corpus: its name.
        run_id: of the run that will take it.
        code: version of the code that extracts.
        limited: the run has a limit of tokens or money: what a step may use depends on those before it.
    """
    store = CorpusStore()
    settings = store.settings(corpus)
    if _asks_at_once(settings) and not limited:
        index = _begun[run_id] = _Index(settings)
        _in_thread(_work, index, corpus, run_id, code)
        _wait_for_first_call(index)
    elif _goes_by_rule(settings) and sum(store.sizes(corpus).values()) <= _SMALL:
        index = _begun[run_id] = _Index(settings)
        _in_thread(_work_beside, index, corpus, begin_process(_serve, corpus, run_id, code))
    elif settings.makes(_EXTRACTION) and not settings.asks_model(_EXTRACTION):
        begin_loading_detector()


def _wait_for_first_call(index: _Index) -> None:
    """Leave the interpreter to what was begun until a model is asked: to load more would hold that up."""
    for module in _ASKING:
        import_module(module)
    wait_for_a_call(_PATIENCE, unless=index.made.done)


def _in_thread(work: Callable[..., None], *given: object) -> None:
    Thread(target=work, args=given, name="ahead of extraction", daemon=True).start()


def said_before(run_id: str) -> list[str]:
    """Return what was said of what was begun for a run; from now on who writes its log hears it."""
    begun = _begun.get(run_id)
    return begun.said.taken() if begun else []


def corpus_contents(
    corpora: CorpusStore, corpus: str, settings: CorpusSettings, run_id: str
) -> CorpusContents:
    """Return what the files of a corpus hold, read before where that was begun.

    Args:
        corpora: has the corpus.
        corpus: its name.
        settings: its settings.
        run_id: of the run.

    Raises:
        CorpusError: as :meth:`CorpusStore.read`.
        SettingsError: as :meth:`CorpusStore.read`.
    """
    begun = _with(settings, _begun.get(run_id))
    return (begun and begun.contents.result()) or corpora.read(corpus)


def corpus_units(documents: pl.DataFrame, settings: CorpusSettings, run_id: str) -> pl.DataFrame:
    """Return the text units of documents, cut before where that was begun; see :func:`.text_units.cut`.

    Args:
        documents: rows of ``corpus.documents``.
        settings: of the corpus.
        run_id: of the run.

    Raises:
        SettingsError: as :func:`.text_units.cut`.
    """
    begun = _with(settings, _begun.get(run_id))
    if begun and (contents := begun.contents.result()) and _are_same(contents.documents, documents):
        units = begun.units.result()
        if units is not None:
            return units
    return cut(documents, **settings.text_units.model_dump())


def corpus_extraction(
    session: Session,
    warehouse: Warehouse,
    corpus: str,
    run_id: str,
    text_chunks: pl.DataFrame,
    state: pl.DataFrame,
) -> tuple[CorpusExtraction, Session]:
    """Return the extraction of a corpus, made before where that was begun, and whose session asked for it.

    The arguments and errors are those of :func:`.extracting.extract_corpus`.
    """
    begun = _with(session.settings, _begun.pop(run_id, None))
    if begun and (units := begun.units.result()) is not None and _are_same(units, text_chunks):
        if not begun.made.done():
            _load_what_follows()
        made = begun.made.result()
        if made and made.state.equals(state):
            return made.extraction, made.session or session
    return extract_corpus(session, warehouse, corpus, text_chunks, state), session


def _load_what_follows() -> None:
    """Load what the next steps do while a model is waited for, which they would have to wait for."""
    for module in _FOLLOWING:
        import_module(module)


def _with(settings: CorpusSettings, begun: _Index | None) -> _Index | None:
    """What was begun, where that was with the settings that there are now."""
    return begun if begun and begun.settings == settings else None


def _asks_at_once(settings: CorpusSettings) -> bool:
    """Whether a model extracts, and answers while it is waited for."""
    if settings.makes("imports") or not settings.asks_model(_EXTRACTION):
        return False
    return not settings.model.for_role("extract").batch


def _goes_by_rule(settings: CorpusSettings) -> bool:
    """Whether rules extract, in one process unless there is much to do."""
    engines = {settings.engine_of(section) for section in filter(settings.does, (_EXTRACTION, "claims"))}
    return not settings.makes("imports") and engines == {_RULES} and settings.extraction.processes < 2


def _are_same(here: pl.DataFrame, there: pl.DataFrame) -> bool:
    """Whether rows with numbers are the same, in whatever order."""
    columns = sorted(here.columns)
    if columns != sorted(there.columns) or here.height != there.height:
        return False
    one, other = (frame.select(columns).sort("human_readable_id") for frame in (here, there))
    return one.equals(other)


def _cut_units(index: _Index, corpus: str) -> pl.DataFrame:
    """Read and cut a corpus; the index takes note of both."""
    store = CorpusStore()
    contents = store.read(corpus)
    index.contents.set_result(contents)
    if not Warehouse().exists(DOCUMENTS, corpus):
        require_documents(contents, store.folder(corpus))
    units = cut(contents.documents, **index.settings.text_units.model_dump())
    index.units.set_result(units)
    return units


def _extract(settings: CorpusSettings, corpus: str, run_id: str, code: str, units: pl.DataFrame) -> _Made:
    language = Language(memory=ReplyMemory(), corpora=CorpusStore())
    session = language.session_of(settings, User(corpus, _EXTRACTION, run_id))
    state = state_of(settings, code)
    return _Made(extract_corpus(session, Warehouse(), corpus, units, state), state, session)


def _work(index: _Index, corpus: str, run_id: str, code: str) -> None:
    try:
        with listening(index.said):
            units = _cut_units(index, corpus)
            index.made.set_result(_extract(index.settings, corpus, run_id, code, units))
    except BaseException as error:
        # Its step meets with it, which would have to wait for it once more.
        index.end(error)


def _serve(pipe: Connection, corpus: str, run_id: str, code: str) -> None:
    """Extract text units, and tell of it; the other end of :func:`_work_beside`."""
    with suppress(GraphragError, EOFError, OSError), listening(Relay(pipe.send)):
        settings = CorpusStore().settings(corpus)
        alone = settings.extraction.model_copy(update={"processes": 1})
        settings = settings.model_copy(update={"extraction": alone})
        load_pipeline(alone.pipeline, False)
        pipe.send(replace(_extract(settings, corpus, run_id, code, pipe.recv()), session=None))


def _work_beside(index: _Index, corpus: str, pipe: Connection) -> None:
    """Have a process extract text units, which loads what it needs while they are cut.

    What has ended it, or does not let them be cut, is met with by the steps.
    """
    try:
        with suppress(GraphragError, EOFError, OSError), pipe, listening(index.said):
            pipe.send(_cut_units(index, corpus))
            while not index.made.done():
                heard = pipe.recv()
                retell(heard) if isinstance(heard, Told) else index.made.set_result(heard)
    finally:
        index.end(None)
