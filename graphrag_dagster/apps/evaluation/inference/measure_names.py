"""Display names of measures and search methods, and formatted numbers."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Literal

from graphrag_dagster.apps.evaluation.tasks import CRITERIA
from graphrag_dagster.kernel.questions.searcher import find_method

#: Stands where there is no number.
NONE = "–"
_MINUS = "\N{MINUS SIGN}"
ALPHA = 0.05


def plain(value: float | None) -> str:
    """Return a whole number as it is, another with two decimals below 1, one below 100, else none.

    >>> plain(0.274), plain(34.18), plain(1309.6), plain(3.0), plain(3), plain(None)
    ('0.27', '34.2', '1,310', '3.0', '3', '–')
    """
    if value is None or not isfinite(value):
        return NONE
    size = abs(value)
    digits = 2 if round(size, 2) < 1 else 1 if round(size, 1) < 100 else 0
    text = f"{size:,.{0 if isinstance(value, int) else digits}f}"
    return f"{_MINUS}{text}" if value < 0 and text.strip("0.") else text


def with_sign(value: float | None) -> str:
    """Return a difference, with its sign.

    >>> with_sign(6.12), with_sign(-0.5), with_sign(0.0)
    ('+6.1', '−0.50', '0.00')
    """
    text = plain(value)
    return f"+{text}" if value is not None and value > 0 and text.strip("0.") else text


def percent(value: float | None, digits: int = 1) -> str:
    """Return a percentage that is given as 0–100.

    >>> percent(71.92), percent(71.92, 0), percent(None)
    ('71.9 %', '72 %', '–')
    """
    if value is None or not isfinite(value):
        return NONE
    return f"{value:.{digits}f} %".replace("-", _MINUS)


def share(value: float | None, digits: int = 1) -> str:
    """Return a share that is given as 0–1 as a percentage."""
    return percent(None if value is None else 100 * value, digits)


def p_value(p: float | None) -> str:
    """Return a p value with its sign of relation; rounding never carries it across 0.05.

    >>> p_value(0.0004), p_value(0.0341), p_value(0.04996), p_value(1.0)
    ('p < .001', 'p = .034', 'p < .05', 'p = 1')
    """
    if p is None or not isfinite(p):
        return NONE
    if p < 0.001:
        return "p < .001"
    if p < ALPHA <= round(p, 3):
        return "p < .05"
    return "p = 1" if p >= 0.9995 else f"p = {p:.3f}".replace("0.", ".", 1)


def money(usd: float | None) -> str:
    """Return US dollars, below ten cents with two digits that count.

    >>> money(0.01234), money(0.5), money(0.0), money(None)
    ('$0.012', '$0.50', '$0', '–')
    """
    if usd is None or not isfinite(usd):
        return NONE
    if usd == 0:
        return "$0"
    return f"${usd:,.2f}" if usd >= 0.1 else f"${float(f'{usd:.2g}'):.12f}".rstrip("0").rstrip(".")


def join_words(items: list[str]) -> str:
    """Return items as a list in a sentence.

    >>> join_words(["a"]), join_words(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else ""


#: ``judged`` by a model; ``claims`` counted in answers; ``form`` of answers; what they ``read``; ``quality``.
Kind = Literal["judged", "claims", "form", "read", "quality", "other"]
KINDS: tuple[Kind, ...] = ("judged", "claims", "form", "quality", "read", "other")
#: The criterion that the paper has as a control: short answers win it.
CONTROL = "directness"

_CLUSTERS = re.compile(r"clusters(?P<lex>-lex)? (?P<distance>[\d.]+)(?P<inclusive> inclusive)?")
_COUNTS: dict[str, tuple[Kind, str, str]] = {
    "claims": ("claims", "states", "claims"),
    "claims-lex": ("claims", "states", "sentences that state something (claims-lex)"),
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
    of = "sentences (clusters-lex)" if proxy else "claims"
    bound = f"{distance}, bound included" if inclusive else distance
    noun = f"clusters of {of} at distance {bound}"
    return Measure(name, "claims", f"{noun}, per answer", "has", noun, 1, proxy, inclusive)


def features(condition: str) -> tuple[str, ...]:
    """Return what a search method makes use of; nothing is known of one that is no longer installed."""
    method = find_method(condition)
    return () if method is None else method.features


def faithful_to_itself(conditions: Iterable[str]) -> str:
    """Return what is to be known of the faithfulness of those that write their own context; else nothing."""
    own = [one for one in conditions if "own context" in features(one)]
    if not own:
        return ""
    writes = "writes its own context" if len(own) == 1 else "write their own contexts"
    return (
        f"{join_words(own)} {writes}: its faithfulness is to what the model wrote itself and says nothing "
        "about the documents, and recall and precision are of that text."
    )


def uses_graph(condition: str) -> bool:
    """Whether a search method reads the graph or its reports."""
    method = find_method(condition)
    return method is not None and method.uses_graph


def reads(condition: str) -> str:
    """Return in plain words what a search method reads; its name where it is no longer installed."""
    method = find_method(condition)
    return condition if method is None else method.text
