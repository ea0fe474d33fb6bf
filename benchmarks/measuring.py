"""What the measures of answers share: corpora indexed once, contexts as a model would see them, intervals.

A *stretch* is characters of a document: path, first and one past the last.
"""

import argparse
import os
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from graphrag_dagster import Index
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.catalogue.engines import LEXICAL
from graphrag_dagster.kernel.catalogue.registry import rerankers
from graphrag_dagster.kernel.catalogue.tasks import Task
from graphrag_dagster.kernel.common.bootstrap_intervals import mean_interval
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache, User
from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.questions.document_filters import ALL, Filters
from graphrag_dagster.kernel.questions.question import Question
from graphrag_dagster.kernel.questions.searcher import Searcher
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.search_settings import SearchSettings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.tasks.language_resource import Language
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider
from graphrag_dagster.systems.graphrag.tasks import ANSWERER, EXPLORER

DATA = Path(__file__).parents[2] / "shared" / "data"
#: Statements of an answer that are read as what it says first.
FIRST = 3
#: Share of a gold sentence's characters from which it counts as cited or shown.
ENOUGH = 0.5


class Stretch(NamedTuple):
    """Characters of a document."""

    path: str
    start: int
    end: int


@dataclass(frozen=True)
class SearchMethod:
    """A search method as it is measured: name in tables, method, options that are not the default."""

    name: str
    method: str
    options: Mapping[str, Any]


BASIC = tuple(
    SearchMethod(f"basic, {name}", "basic", {"retrieval": mode})
    for name, mode in (("words", "lexical"), ("vectors", "vector"), ("hybrid", "hybrid"))
)


@dataclass(frozen=True)
class Shown:
    """What an answerer was shown at once: the rows, and the context as the prompt has it."""

    rows: Sequence[ContextUnit]
    rendered: str


@dataclass(frozen=True)
class Asked:
    """An answer, and all that was shown for it in the order in which it was asked."""

    answer: Answer
    shown: Sequence[Shown]


class Corpus:
    """A corpus of texts, indexed without a model in a home of its own unless it was already.

    Args:
        home: folder; what is there already is used again.
        name: of the corpus.
        documents: text by file name.
        settings: content of ``corpus.yaml``.
        search: settings of the search that differ from those, by their names.
        noun_phrases: whether they are entities.
    """

    def __init__(
        self,
        home: Path,
        name: str,
        documents: Mapping[str, str],
        settings: str = "",
        search: Mapping[str, Any] | None = None,
        *,
        noun_phrases: bool = False,
    ) -> None:
        self.name = name
        self._search = search or {}
        for variable in ("GRAPHRAG_DAGSTER_CORPORA", "GRAPHRAG_DAGSTER_WAREHOUSE", "OPENAI_BASE_URL"):
            os.environ.pop(variable, None)
        home = home.resolve()
        os.environ |= {"GRAPHRAG_DAGSTER_HOME": str(home), "DAGSTER_HOME": str(home / ".dagster_home")}
        if not (home / "warehouse" / "published" / name).is_dir():
            folder = home / "corpora" / name
            folder.mkdir(parents=True, exist_ok=True)
            for file, text in documents.items():
                (folder / file).write_text(text, encoding="utf-8", newline="")
            (folder / "corpus.yaml").write_text(
                f"{extraction(noun_phrases=noun_phrases)}{settings}", encoding="utf-8"
            )
            begin = time.monotonic()
            run_job(name)
            print(
                f"indexed {len(documents)} documents of {name} in {time.monotonic() - begin:.0f} s",
                flush=True,
            )
        self.index = Index.open(name)
        read = dict(self.index.searcher.index.documents.select("path", "text").iter_rows())
        if changed := [file for file, text in documents.items() if read.get(file) != text]:
            raise SystemExit(
                f"{name}: {len(changed)} documents are not read as they were written: {changed[:3]}"
            )

    def ask(self, question: str, way: SearchMethod, filters: Filters = ALL, **options: Any) -> Asked:
        """Ask, and keep what the answerer is shown; what cannot be answered for want of room is a refusal."""
        engines = _Watched(self._session)
        try:
            searcher = self._searcher(way, options)
            answer = searcher.answer(Question(question, way.method, filters=filters), engines)
        except QuestionError as error:
            print(f"{way.name}: {question!r}: {error}")
            answer = Answer(question, way.method, None, "", "extractive", refused=True)
        return Asked(answer, engines.shown)

    def context(
        self, question: str, way: SearchMethod, filters: Filters = ALL, **options: Any
    ) -> Sequence[Shown]:
        """Return what an answerer would be shown, without having it answer."""
        engines = _Watched(self._session, only_watch=True)
        try:
            searcher = self._searcher(way, options)
            searcher.answer(Question(question, way.method, filters=filters), engines)
        except _SeenEnough:
            pass
        except QuestionError as error:
            print(f"{way.name}: {question!r}: {error}")
        return engines.shown

    def _searcher(self, way: SearchMethod, options: Mapping[str, Any]) -> Searcher:
        own = self.index.searcher
        first = {name: value for name, value in self._search.items() if name == "rerank_first"}
        changed = {**first, **way.options, **options}
        sections = {name: changed.pop(name) for name in ("coterag", "paths") if name in changed}
        settings = own.with_options(**changed).settings
        return own.with_settings(settings.model_copy(update=sections))

    @cached_property
    def _session(self) -> TaskProvider:
        settings = CorpusStore().settings(self.name)
        return session_of(self.name, with_search(settings, self._search))

    def units(self, unit_ids: Iterable[str]) -> list[Stretch]:
        """Return where text units stand."""
        passages = self.index.searcher.index.passages
        return [
            Stretch(one.path, one.start_char, one.end_char) for one in (passages[unit] for unit in unit_ids)
        ]

    def unit_ids(self, shown: Iterable[Shown]) -> list[str]:
        """Return the text units that were shown, in their order, each once."""
        return list(dict(self._sources(shown)))

    def _sources(self, shown: Iterable[Shown]) -> Iterator[tuple[str, str]]:
        for one in shown:
            for unit in one.rows:
                quotes = [quote for _, quote in unit.sentences if quote]
                if unit.kind == "source" and quotes:
                    yield quotes[0].unit_id, unit.text


def extraction(*, noun_phrases: bool) -> str:
    """Return the section of ``corpus.yaml``, with a process for each processor."""
    phrases = str(noun_phrases).lower()
    return f"extraction: {{noun_phrases: {phrases}, processes: {os.cpu_count() or 1}}}\n"


class _SeenEnough(Exception):
    """The context is known, and no answer is wanted."""


def with_search(settings: CorpusSettings, search: Mapping[str, Any]) -> CorpusSettings:
    """Return settings with other ones of the search, checked."""
    told = settings.model_dump()
    return CorpusSettings.model_validate({**told, "search": {**told["search"], **search}})


def session_of(name: str, settings: CorpusSettings) -> TaskProvider:
    """Return the engines of a corpus."""
    user = User(name, "ask", str(uuid.uuid4()))
    return Language(memory=LLMCache(), corpora=CorpusStore()).session_of(settings, user)


def add_reranker(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a reranker."""
    parser.add_argument("--reranker", choices=list(rerankers()), default=LEXICAL)
    parser.add_argument("--reranker-model", metavar="FOLDER_OR_NAME")
    parser.add_argument("--rerank-first", type=int, default=SearchSettings().rerank_first)


def reranking(given: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of the search that the options stand for."""
    return {name: getattr(given, name) for name in ("reranker", "reranker_model", "rerank_first")}


class _Watched:
    """The engines of a session; who answers and who asks on are looked over the shoulder."""

    def __init__(self, session: TaskProvider, *, only_watch: bool = False) -> None:
        self._session = session
        self._only_watch = only_watch
        self.shown: list[Shown] = []

    def task(self, task: Task[Any]) -> Any:
        who = self._session.task(task)
        if task not in (ANSWERER, EXPLORER):
            return who
        return _Watcher(who, self.shown, only_watch=task is ANSWERER and self._only_watch)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


class _Watcher:
    def __init__(self, who: Any, shown: list[Shown], *, only_watch: bool = False) -> None:
        self._who = who
        self._shown = shown
        self._only_watch = only_watch

    def map(self, question: str, chunks: Any, rendered: Any) -> Any:
        self._take(Shown(*one) for one in zip(chunks, rendered, strict=True))
        return self._who.map(question, chunks, rendered)

    def answer(self, question: str, rows: Any, rendered: str, history: Any = ()) -> Any:
        self._take([Shown(rows, rendered)])
        return self._who.answer(question, rows, rendered, history)

    def reduce(self, question: str, partials: Any) -> Any:
        self._take([])
        return self._who.reduce(question, partials)

    def _take(self, shown: Iterable[Shown]) -> None:
        self._shown += shown
        if self._only_watch:
            raise _SeenEnough

    def primer(self, question: str, rows: Any, rendered: str, most: int) -> Any:
        self._shown.append(Shown(rows, rendered))
        return self._who.primer(question, rows, rendered, most)

    def follow(self, asked: Any, steps: Any, most: int) -> Any:
        self._shown += [Shown(step.rows, step.rendered) for step in steps]
        return self._who.follow(asked, steps, most)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._who, name)


def covered(gold: Stretch, by: Iterable[Stretch]) -> int:
    """Return how many characters of a stretch others cover, each counted once."""
    inside = sorted(
        (max(one.start, gold.start), min(one.end, gold.end)) for one in by if one.path == gold.path
    )
    count, reached = 0, gold.start
    for start, end in inside:
        count += max(0, end - max(start, reached))
        reached = max(reached, end)
    return count


def within(stretches: Iterable[Stretch], budget: int) -> list[Stretch]:
    """Return the first so many characters of stretches, in their order."""
    found = []
    for one in stretches:
        if budget > 0:
            found.append(one._replace(end=min(one.end, one.start + budget)))
            budget -= one.end - one.start
    return found


def share_covered(gold: Sequence[Stretch], by: Sequence[Stretch]) -> float:
    """Return which share of the characters of all gold stretches, which do not overlap, others cover."""
    return sum(covered(one, by) for one in gold) / sum(one.end - one.start for one in gold)


def interval(values: Sequence[float]) -> str:
    """Return a mean with the bounds of its 95 % bootstrap interval, as tables show them."""
    found = mean_interval(values)
    if found is None:
        return "–"
    if found.low is None or found.high is None:
        return f"{found.mean:.3f}"
    return f"{found.mean:.3f} ({found.low:.2f}–{found.high:.2f})"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table as Markdown has them."""
    print("| " + " | ".join(header) + " |")
    print("| " + " | ".join("---" for _ in header) + " |")
    for cells in rows:
        print("| " + " | ".join(cells) + " |", flush=True)
