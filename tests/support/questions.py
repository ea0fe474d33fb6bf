"""Questions as tests put them to a search method."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from graphrag_dagster.kernel.catalogue.tasks import Port, Task
from graphrag_dagster.kernel.questions.context.index_background import Support
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.question import Question, Search
from graphrag_dagster.kernel.questions.searcher import level_read, require_method
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.search_settings import SearchSettings
from graphrag_dagster.kernel.tasks.support_by_words import JudgeByWords


@dataclass(frozen=True)
class Given:
    """Engines that are there; a search method that needs another fails."""

    engines: dict[str, object]

    def task(self, task: Task[Port]) -> Port:
        given = self.engines.get(task.name) if task.model_only else self.engines[task.name]
        return cast("Port", given)

    def embedder(self) -> Any:
        return self.engines["embedder"]

    def reranker(self) -> Any:
        return self.engines.get("reranker")

    def support_judge(self) -> Any:
        return self.engines.get("support_judge", JudgeByWords())


def asked_of(
    index: IndexSnapshot,
    question: str,
    way: str,
    *,
    count: Callable[[str], int],
    level: int | None = None,
    support: Support | None = None,
    options: dict[str, Any] | None = None,
    **engines: object,
) -> Search:
    """A question as it is put to a search method; ``options`` are those that differ from the defaults."""
    # As small as no corpus's settings may be.
    search = SearchSettings().model_copy(update=options)
    settings = CorpusSettings().model_copy(update={"search": search})
    return Search(
        method=require_method(way),
        index=index,
        count=count,
        settings=settings,
        level=level_read(require_method(way), level, settings.search, index),
        question=Question(question).validated(),
        engines=Given(engines),
        support=support,
    )
