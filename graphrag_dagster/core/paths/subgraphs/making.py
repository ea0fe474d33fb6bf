"""Which extraction options stand for."""

from graphrag_dagster.core.language.path_selection import PathSelector
from graphrag_dagster.core.paths.options import PathOptions
from graphrag_dagster.core.paths.scoring.port import PathScorer
from graphrag_dagster.core.paths.store import PathStore
from graphrag_dagster.core.paths.subgraphs.port import SubgraphExtractor
from graphrag_dagster.core.paths.subgraphs.ppr import page_ranks_of
from graphrag_dagster.core.paths.subgraphs.pruning import PrunedSubgraphs, pruned_level, window
from graphrag_dagster.core.paths.subgraphs.ranked import RankedSubgraphs
from graphrag_dagster.errors import GraphragError


def extractor_of(
    options: PathOptions,
    store: PathStore,
    *,
    scorer: PathScorer | None = None,
    selector: PathSelector | None = None,
) -> SubgraphExtractor:
    """Return the extraction that options stand for.

    Args:
        options: which.
        store: the graph.
        scorer: of a pruning, and of neighbourhoods that are cut.
        selector: of a pruning by one.

    Raises:
        GraphragError: an option has no such value, or what it needs is not given.
    """
    base = RankedSubgraphs(
        store,
        page_ranks_of(store, store.followed(options.direction), options.damping),
        options.max_ent,
    )
    if options.pruning == "none":
        return base
    if scorer is None:
        raise GraphragError(f"pruning {options.pruning!r} needs a scorer")
    if options.pruning == "llm" and selector is None:
        raise GraphragError("pruning 'llm' needs a selector")
    level = pruned_level(options, store)
    chosen = selector if options.pruning == "llm" else None
    return PrunedSubgraphs(base, scorer, level, window(options, level), chosen)
