"""Our resources as Dagster sets them up: their fields are the keys of its run config."""

from collections.abc import Iterator
from contextlib import contextmanager

from dagster import ConfigurableResource, DagsterLogManager, InitResourceContext

from graphrag_dagster.core.progress import Listener, listening
from graphrag_dagster.operations.asking.list_filters import ListFilters
from graphrag_dagster.operations.evaluating.scope import EvaluationScope
from graphrag_dagster.resources.clustering import ClusteringStart
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.reply_memory import ReplyMemory
from graphrag_dagster.resources.warehouse import Warehouse


class WarehouseResource(ConfigurableResource[None], Warehouse):
    """Reads and writes the declared tables of each corpus, in a DuckDB file of its own."""


class CorpusStoreResource(ConfigurableResource[None], CorpusStore):
    """Finds corpora: folders below ``root``, or elsewhere where a file ``NAME.path`` there points to."""


class ReplyMemoryResource(ConfigurableResource[None], ReplyMemory):
    """Where replies of models are remembered, and what every run used of them."""


class ClusteringStartResource(ConfigurableResource[None], ClusteringStart):
    """Has the communities of one run found from nothing, whatever the corpus's settings say."""


class EvaluationScopeResource(ConfigurableResource[None], EvaluationScope):
    """Limits an evaluation to a sample of its questions; the same questions whenever the size is the same."""


class ListFiltersResource(ConfigurableResource[None], ListFilters):
    """Restricts the answers of a run to some documents."""


class LanguageResource(ConfigurableResource[None], Language):
    """Opens the engines of the language tasks for an asset; the limits hold for each run as a whole."""

    memory: ReplyMemoryResource
    corpora: CorpusStoreResource

    @contextmanager
    def yield_for_execution(self, context: InitResourceContext) -> Iterator[None]:
        """Have what calls of models meet with told in the log of the run while it goes on."""
        if context.log is None:
            yield self.create_resource(context)
            return
        with listening(_RunLog(context.log)):
            yield self.create_resource(context)


class _RunLog(Listener):
    """What is said while stages run, in the log of a run."""

    def __init__(self, log: DagsterLogManager) -> None:
        self._log = log

    def start(self, stage: str, total: int | None) -> None:
        """Say nothing: each step has its own events."""

    def advance(self, stage: str, steps: int) -> None:
        """Say nothing."""

    def finish(self, stage: str) -> None:
        """Say nothing."""

    def say(self, line: str) -> None:
        """Write a warning."""
        self._log.warning("%s", line)
