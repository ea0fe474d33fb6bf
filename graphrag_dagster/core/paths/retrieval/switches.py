"""Which options of path retrieval go together (spec_lego §7)."""

from graphrag_dagster.core.paths.options import PathOptions
from graphrag_dagster.errors import EngineError

#: Where each switch has a meaning: how paths are found, and who judges them.
_FOR: dict[str, tuple[tuple[str, ...], str]] = {
    "triple_level": (("isar",), "eem"),
    "dynamic_prune": (("isar",), "eem"),
    "combine": (("isar",), "eem"),
    "refine": (("isar",), "eem"),
    "early_stop": (("isar",), "eem"),
    "prefilter": (("isar",), "llm"),
    "supplement": (("isar", "osar"), "llm"),
    "rerank": (("osar",), "llm"),
    "window": (("osar",), "llm"),
    "llm_embeddings": (("osar",), "llm"),
}
#: Those that leave no place for another.
_EXCLUDES = {
    "combine": (("triple_level", "dynamic_prune"), "it chooses between these by the question"),
    "window": (("supplement", "rerank"), "it needs no scorer"),
    "llm_embeddings": (("supplement", "rerank", "window"), "it ranks, and nothing is selected"),
}
_MODULE = {"isar": "ISAR", "osar": "OSAR", "spr": "SBR-SPR", "epr": "SBR-EPR"}
_JUDGED = {"eem": "-EEMs", "llm": "-LLMs", "none": ""}


def refuse_senseless(options: PathOptions) -> None:
    """Refuse switches that mean nothing for how paths are found.

    Raises:
        EngineError: one does; names it and what it is for.
    """
    switches, module = options.switches, _MODULE[options.retrieval]
    if options.retrieval in {"osar", "isar"} and options.judged == "none":
        raise EngineError(f"{module} needs someone who judges paths; set judged: eem or llm")
    own = module + (_JUDGED[options.judged] if options.retrieval in {"osar", "isar"} else "")
    on = [name for name in _FOR if getattr(switches, name)]
    for name in on:
        retrievals, judged = _FOR[name]
        if options.retrieval not in retrievals or options.judged != judged:
            wanted = " or ".join(_MODULE[one] + _JUDGED[judged] for one in retrievals)
            raise EngineError(f"switches.{name} is for {wanted}, not for {own}; leave it out there")
        others, why = _EXCLUDES.get(name, ((), ""))
        if clash := next((one for one in others if one in on), None):
            raise EngineError(f"switches.{name} and switches.{clash} do not go together: {why}")
    if switches.percentile is not None and not (switches.dynamic_prune or switches.combine):
        raise EngineError("switches.percentile needs switches.dynamic_prune or switches.combine")
