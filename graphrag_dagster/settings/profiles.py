"""Profiles: what one key, ``profile``, sets of the others where ``corpus.yaml`` does not say."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from graphrag_dagster.catalogue.registry import engines
from graphrag_dagster.core.paths.instances import INSTANCES

ProfileName = Literal["default", "paper", "paper_002", "paper_004"]

#: What the paper fixes, by key; its section or table beside it. It names no number of gleanings, no level of
#: communities for a single question, no sizes of communities and no temperature: these stay as they are.
_PAPER: Mapping[str, Any] = MappingProxyType(
    {
        # §4.1.1: windows of 600 tokens, 100 of them shared; with this tokenizer Table 2 adds up to the token.
        "text_units.strategy": "tokens",
        "text_units.size": 600,
        "text_units.overlap": 100,
        "text_units.encoding": "cl100k_base",
        # Appendix A.2, E.1
        "extraction.gleaning.order": "check_first",
        "model.logit_bias": True,
        "model.replies": "tuples",
        # §3.1.3: names are matched exactly.
        "resolution.enabled": False,
        "graph.weight": "count",
        "graph.profile": "paper",
        # §3.1.4; the counts of Table 2 are those of the largest component.
        "communities.profile": "paper",
        "communities.start": "cold",
        # §3.1.6, §4.1.3, Appendix E.3, E.4
        "reports.context_tokens": 8000,
        "search.method": "global",
        "search.context_tokens": 8000,
        "search.unit": "answer",
        "search.response_type": "multiple paragraphs",
        "search.general_knowledge": True,
        # §3.2, §4.1
        "questions.methods": ["C0", "C1", "C2", "C3", "TS", "SS"],
        "questions.personas": 5,
        "questions.tasks": 5,
        "questions.per_task": 5,
        "questions.oversample": 1,
        "evaluation.criteria": ["comprehensiveness", "diversity", "empowerment", "directness"],
        "evaluation.replicates": 5,
        # §4.2, Table 4
        "evaluation.thresholds": [0.5, 0.6, 0.7, 0.8],
        # Figure 3, Appendix C
        "studies.chunk_sizes": [600, 1200, 2400],
        "studies.gleanings": 3,
        "studies.windows": [8000, 16000, 32000, 64000],
    }
)

#: What the second paper and its code do (spec_lego): single options, each of which may be set by itself.
_PAPER_002: Mapping[str, Any] = MappingProxyType(
    {
        # Table 1, B.10: all fifteen, and its instance of GraphRAG.
        "paths.instances": [one.name for one in INSTANCES],
        # §4: edges are followed out alone; Freebase has its inverse relations in it.
        "paths.direction": "out",
        # §2: the vectors that every instance from the second on is measured with.
        "paths.scorer": "minilm",
        "paths.relation_words": False,
        # §3: personalised PageRank.
        "paths.max_ent": 1000,
        "paths.damping": 0.8,
        "paths.max_edge": 64,
        "paths.max_triples": 256,
        # Algorithm 1: paths may come back (Figure 9), and of a node the first neighbours are looked at.
        "paths.beam": 8,
        "paths.max_hop": 4,
        "paths.allow_revisit": True,
        "paths.expansion": "first",
        "paths.cap": 32,
        # B.13: whatever occurs in a reply counts as selected.
        "paths.parsing": "paper",
        # §5
        "paths.top_k": 32,
        "paths.shown": 32,
        "paths.ties": "target",
        "paths.sample": 1000,
    }
)

#: What the fourth paper has: flat communities, enriched by what resembles them, and an agent over them.
_PAPER_004: Mapping[str, Any] = MappingProxyType(
    {
        # §V: no hierarchy, which leaves the number of communities to the resolution.
        "communities.max_cluster_size": 1_000_000_000,
        "communities.resolution": 1.0,
        # §IV.A: node2vec alone.
        "context.enabled": True,
        "context.embedding": "node2vec",
        # Table I: vectors of communities and context nodes only.
        "embeddings.kept": "communities",
        # §III.B
        "search.method": "graph",
        "search.level": 0,
        "questions.methods": ["C0", "TS", "basic", "graph"],
        "evaluation.baseline": "basic",
    }
)

#: Values of settings by profile and key; a profile leaves what it does not name at its default.
PROFILES: Mapping[ProfileName, Mapping[str, Any]] = MappingProxyType(
    {"default": MappingProxyType({}), "paper": _PAPER, "paper_002": _PAPER_002, "paper_004": _PAPER_004}
)
#: Keys that are only set where the engine of their section asks a model: the others refuse the value.
NEED_A_MODEL = frozenset({"search.general_knowledge"})
#: Keys that count tokens, and are not set where text units are measured in characters.
_IN_TOKENS = frozenset({"text_units.size", "text_units.overlap"})


def with_profile(given: Mapping[str, Any], engine: str) -> Mapping[str, Any]:
    """Return settings as they are given, and what their profile sets of the keys that are not given.

    What is no section where one should be, and a profile that there is not, are left to validation.

    Args:
        given: a mapping of settings that nobody has looked at.
        engine: that of a section for which none is given.
    """
    name = given.get("profile")
    values = PROFILES.get(name) if isinstance(name, str) else None  # type: ignore[call-overload]
    if not values:
        return given
    filled = dict(given)
    for key, value in values.items():
        if _fits(key, given, engine):
            _fill(filled, key.split("."), value)
    return filled


def _fill(section: dict[str, Any], path: list[str], value: Any) -> None:
    name, *below = path
    if not below:
        section.setdefault(name, value)
        return
    inner = section.get(name, {})
    if isinstance(inner, Mapping):
        section[name] = dict(inner)
        _fill(section[name], below, value)


def _fits(key: str, given: Mapping[str, Any], engine: str) -> bool:
    section = key.partition(".")[0]
    if key in _IN_TOKENS:
        return _own(given, section).get("strategy") != "characters"
    return key not in NEED_A_MODEL or _asks_model(given, section, engine)


def _own(given: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    own = given.get(section)
    return own if isinstance(own, Mapping) else {}


def _asks_model(given: Mapping[str, Any], section: str, engine: str) -> bool:
    chosen = _own(given, section).get("engine") or given.get("engine") or engine
    known = engines().get(chosen) if isinstance(chosen, str) else None
    return known is not None and known.asks_model
