"""Display names of measures and search methods, and the better direction of each measure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from graphrag_dagster.apps.evaluation.inference.numbers import listed
from graphrag_dagster.apps.evaluation.tasks import CRITERIA
from graphrag_dagster.kernel.questions.searcher import known_way

#: ``judged`` by a model; ``claims`` counted in answers; ``form`` of answers; what they ``read``; ``quality``.
Kind = Literal["judged", "claims", "form", "read", "quality", "other"]
KINDS: tuple[Kind, ...] = ("judged", "claims", "form", "quality", "read", "other")
#: The criterion that the paper has as a control: short answers win it.
CONTROL = "directness"

_CLUSTERS = re.compile(r"clusters(?P<lex>-lex)? (?P<distance>[\d.]+)(?P<inclusive> inclusive)?")
_COUNTS: dict[str, tuple[Kind, str, str]] = {
    "claims": ("claims", "states", "claims"),
    "claims-lex": ("claims", "states", "claim-like clauses (claims-lex)"),
    "words": ("form", "writes", "words"),
    "statements": ("form", "writes", "sentences"),
    "unsupported statements": ("form", "writes", "sentences without support in the documents"),
    "context units": ("read", "reads", "rows of context"),
    "context tokens": ("read", "reads", "tokens of context"),
}
_LOWER = {"unsupported statements", "refusals", "context units", "context tokens"}
#: More of these is neither better nor worse.
_NEUTRAL = {"words", "statements"}
_FAMILIES = ("deepeval", "ragas", "lexical")


@dataclass(frozen=True, slots=True)
class Measure:
    """Wording for a measure.

    ``label`` heads its row; a count has a ``verb`` and a ``noun`` for sentences, other measures have ''.
    ``sign`` is 1 where more is better, -1 where less is, 0 where neither is; ``proxy``: the extractive engine
    counts something of its own in place of the paper's measure, and the label says so.
    """

    name: str
    kind: Kind
    label: str
    verb: str = ""
    noun: str = ""
    sign: int = 1
    proxy: bool = False
    inclusive: bool = False

    @property
    def order(self) -> tuple[int, int, bool, str]:
        """Position among measures: by kind, criteria as in the paper, counts as declared."""
        known = [*CRITERIA, *_COUNTS]
        place = known.index(self.name) if self.name in known else len(known)
        return KINDS.index(self.kind), place, self.inclusive, self.name


def measure(name: str) -> Measure:
    """Return how the measure of this name is spoken of; an unknown one goes by its name."""
    if name in CRITERIA:
        return Measure(name, "judged", name)
    if name in _COUNTS:
        kind, verb, noun = _COUNTS[name]
        sign = -1 if name in _LOWER else 0 if name in _NEUTRAL else 1
        return Measure(name, kind, f"{noun} per answer", verb, noun, sign, name.endswith("-lex"))
    if name == "refusals":
        return Measure(name, "form", "share of questions refused", sign=-1)
    if found := _CLUSTERS.fullmatch(name):
        return _clusters(name, found["distance"], bool(found["lex"]), bool(found["inclusive"]))
    if name.split(" ")[0] in _FAMILIES:
        return Measure(name, "quality", name.replace("_", " "))
    return Measure(name, "other", name.replace("_", " "), proxy=name.endswith("-lex"))


def _clusters(name: str, distance: str, proxy: bool, inclusive: bool) -> Measure:
    of = "claim-like clauses (clusters-lex)" if proxy else "claims"
    bound = f"{distance}, bound included" if inclusive else distance
    noun = f"clusters of {of} at distance {bound}"
    return Measure(name, "claims", f"{noun}, per answer", "has", noun, 1, proxy, inclusive)


def features(condition: str) -> tuple[str, ...]:
    """Return what a search method makes use of; nothing is known of one that is no longer installed."""
    way = known_way(condition)
    return () if way is None else way.features


def faithful_to_itself(conditions: Iterable[str]) -> str:
    """Return what is to be known of the faithfulness of those that write their own context; else nothing."""
    own = [one for one in conditions if "own context" in features(one)]
    if not own:
        return ""
    writes = "writes its own context" if len(own) == 1 else "write their own contexts"
    return (
        f"{listed(own)} {writes}: its faithfulness is to what the model wrote itself and says nothing about "
        "the documents, and recall and precision are of that text."
    )


def uses_graph(condition: str) -> bool:
    """Whether a search method reads the graph or its reports."""
    way = known_way(condition)
    return way is not None and way.uses_graph


def reads(condition: str) -> str:
    """Return in plain words what a search method reads; its name where it is no longer installed."""
    way = known_way(condition)
    return condition if way is None else way.text
