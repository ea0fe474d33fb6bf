"""What an instance is made of, with everything that decides what it gives."""

from dataclasses import dataclass

from graphrag_dagster.core.paths.instances import instance
from graphrag_dagster.core.paths.options import PathOptions


@dataclass(frozen=True, slots=True)
class Recipe:
    """An instance by its parts.

    Attributes:
        name: without what tells that rules stood in for a model.
        options: its modules and how they work.
        scorer_model: of the scorer; None: the one it has by itself.
        reports: the reports of the seeds' communities are read beside the paths.
    """

    name: str
    options: PathOptions
    scorer_model: str | None = None
    reports: bool = False

    @property
    def asks_selector(self) -> bool:
        """Whether something is selected by whoever selects."""
        options, switches = self.options, self.options.switches
        judged = options.judged == "llm" and options.retrieval in ("osar", "isar")
        judged = judged and not switches.llm_embeddings
        return options.pruning == "llm" or judged or switches.refine or switches.early_stop

    @property
    def scores(self) -> bool:
        """Whether anything is scored."""
        options = self.options
        return options.pruning != "none" or options.retrieval in ("osar", "isar")


_SHIPPED = instance("12")
#: By which the way of answering ``paths`` finds paths unless the settings say otherwise: no model is asked.
DEFAULT = Recipe(_SHIPPED.name, _SHIPPED.options(PathOptions()))
