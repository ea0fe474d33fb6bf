import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.apps.cypher.language.guard import guard_query
from graphrag_dagster.apps.cypher.property_graph import GraphQueryRun, GraphRows
from graphrag_dagster.apps.cypher.text_to_cypher import CypherAnswer
from graphrag_dagster.apps.explorer.explorer import Explorer
from graphrag_dagster.apps.explorer.open_snapshots import SnapshotCache
from graphrag_dagster.errors import CorpusError, EndpointError, QuestionError, SettingsError, WarehouseError
from graphrag_dagster.kernel.catalogue.registry import methods
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.questions.context.answer import Answer, Source
from graphrag_dagster.kernel.questions.corpus_index import EntityHit, ReportText
from graphrag_dagster.kernel.questions.document_filters import Filters
from graphrag_dagster.kernel.questions.question import Question
from graphrag_dagster.kernel.questions.searcher import require_method
from graphrag_dagster.kernel.storage.queries import Query
from graphrag_dagster.kernel.text.answer_form import AnswerForm
from graphrag_dagster.kernel.text.evidence import Passage, Row, Triple, Words
from graphrag_dagster.service.http_server import bind, make_server
from graphrag_dagster.service.open_indexes import Library
from graphrag_dagster.service.settings import ServiceSettings

TEXT = "Hanna Quill led the Dockers Union. [1]"
PIECES = ("Hanna Quill led", " the Dockers", " Union. [Data: Rep", "orts (1)]")
SOURCE = Source(
    1,
    "report",
    "r1",
    "The strike",
    evidence=Words("d1", "strike", "news/strike.md", "u1", 0, 34, "Hanna Quill led the\nDockers Union."),
)
TRIPLE = Triple(
    *("x1", "e1", "Hanna Quill", "She led it", "e2", "Dockers Union"),
    *("d1", "strike", "news/strike.md", None, "u1"),
)
ROW = Row("corpus.documents", "d1", "strike", {"title": "strike", "row": None, "n": 2})
QUERY = Query("documents_naming", "Counted: documents", "select 1", {"entities": ["e1"]})


@dataclass
class FaultyIndex:
    """Answers as its library says: at once, slowly, in pieces, or with an error."""

    name: str
    version: str
    library: "FaultyLibrary"

    def answer(self, question: Question, listen: Callable[[str], None] | None = None) -> Answer:
        plan = self.library
        turns = tuple((turn.question, turn.answer) for turn in question.history)
        plan.asked.append((question.text, question.method, question.level, turns))
        plan.wished.append((question.response_type, question.general_knowledge))
        plan.filters.append(question.filters)
        if not question.text.strip():
            raise QuestionError("ask a question with words in it")
        if question.method:
            require_method(question.method)
        AnswerForm.checked(question.response_type, bool(question.general_knowledge))
        if question.level == "C9":
            raise QuestionError("there is no level C9; there are: C0, C1")
        plan.running += 1
        try:
            for number, piece in enumerate(plan.pieces):
                if listen:
                    listen(piece)
                if plan.breaks_after == number + 1:
                    raise EndpointError("the model endpoint went away; start it again")
                plan.between.wait(plan.pause)
            plan.gate.wait(20)
            if plan.error is not None:
                raise plan.error
        finally:
            plan.running -= 1
        return Answer(
            question.text,
            question.method or "local",
            None,
            TEXT,
            "llm",
            sources=plan.sources,
            usage=Usage(2, 70, 9),
            query=plan.query,
        )

    def cypher(self, query: str, parameters: Mapping[str, Any] | None = None) -> GraphQueryRun:
        guard_query(query, parameters)
        found = GraphRows(("title",), (("Hanna Quill",),), more=False)
        return GraphQueryRun(query, parameters or {}, found)

    def ask_graph(self, question: str) -> CypherAnswer:
        if "connected" not in question:
            raise QuestionError("the question has the form of no template")
        return CypherAnswer(question, "Found: entities", self.cypher("MATCH (n) RETURN n.title AS title"))

    def embed(self, texts: Sequence[str], *, queries: bool = False) -> NDArray[np.float32]:
        self.library.running += 1
        try:
            self.library.gate.wait(20)
            if self.library.error is not None:
                raise self.library.error
        finally:
            self.library.running -= 1
        return self.library.embed_here("queries" if queries else "documents", texts)

    def search_entities(self, query: str, limit: int = 10) -> list[EntityHit]:
        return [EntityHit("e1", "HANNA QUILL", "person", "led the strike", 3, 1.5)][:limit]

    def report(self, report_id: str) -> ReportText:
        if report_id != "r1":
            raise QuestionError(f"corpus {self.name!r} has no report {report_id!r}")
        return ReportText("r1", "The strike", 0, 7.0, "# The strike")

    def source(self, text_unit_id: str) -> Passage:
        if text_unit_id != "u1":
            raise QuestionError(f"corpus {self.name!r} has no text unit {text_unit_id!r}")
        return Passage(
            "u1", 0, "d1", "strike", "news/strike.md", None, 0, "Hanna Quill led the Dockers Union."
        )


@dataclass
class FaultyLibrary:
    """Corpora that fail on demand: closed ``gate`` (answers wait), ``error``, ``breaks_after`` pieces."""

    version: str = "1"
    known: tuple[str, ...] = ("coast", "inland", "upland")
    pieces: tuple[str, ...] = ()
    breaks_after: int = 0
    pause: float = 0.0
    error: Exception | None = None
    sources: tuple[Source, ...] = (SOURCE,)
    query: Query | None = None
    open_seconds: float = 0.0
    opened: list[str] = field(default_factory=list)
    asked: list[tuple[str, str | None, str | None, tuple[tuple[str, str], ...]]] = field(default_factory=list)
    wished: list[tuple[str | None, bool | None]] = field(default_factory=list)
    filters: list[Filters | None] = field(default_factory=list)
    embedded: list[tuple[str, ...]] = field(default_factory=list)
    running: int = 0
    gate: threading.Event = field(default_factory=threading.Event)
    between: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    def open(self, name: str) -> FaultyIndex:
        self.opened.append(name)
        version = self.version
        time.sleep(self.open_seconds)
        if name == "bare":
            raise WarehouseError("corpus 'bare' has not been indexed; run: graphrag-dagster index bare")
        if name == "torn":
            raise SettingsError("corpus.yaml: engine must be extractive or llm")
        if name not in self.known:
            raise CorpusError(f"no corpus {name!r}; there are: {', '.join(self.known)}")
        return FaultyIndex(name, version, self)

    def names(self) -> list[str]:
        return list(self.known)

    def unindexed(self) -> list[str]:
        return []

    def methods(self, name: str) -> list[str]:
        return [one.name for one in methods().values() if not one.needs]

    def embedders(self) -> list[str]:
        return ["static"]

    def embed_here(self, name: str, texts: Sequence[str]) -> NDArray[np.float32]:
        self.embedded.append((name, *texts))
        return np.array([[len(text), 0.5, -1e-7] for text in texts], dtype=np.float32)

    def published_version(self, name: str) -> str:
        return self.version

    def snapshot(self, name: str) -> str:
        return f"snapshot {self.version}"

    def explorer(self, name: str, cache: SnapshotCache | None = None) -> Explorer:
        self.open(name)
        return Explorer(name, cache=cache)


@contextmanager
def serving(library: Library | None, settings: ServiceSettings) -> Iterator[str]:
    """Run the real server in a thread on a free port; gives its URL."""
    urls: list[str] = []
    with bind(settings) as bound:
        server = make_server(settings, bound, urls.append, library)
        thread = threading.Thread(target=lambda: server.run(sockets=[bound]), daemon=True)
        thread.start()
        until(lambda: bool(urls))
        try:
            yield urls[0]
        finally:
            server.should_exit = True
            thread.join(10)
            assert not thread.is_alive()


def until(true: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
