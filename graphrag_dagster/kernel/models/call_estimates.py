"""Estimates of model calls, made before anything is sent."""

from dataclasses import dataclass, field

from graphrag_dagster.kernel.catalogue.engines import JudgeName
from graphrag_dagster.kernel.models.model_costs import Price

#: How far replies may be from what is expected of a model whose replies are not known yet, and are known.
_UNKNOWN = (0.5, 1.6)
_KNOWN = (0.85, 1.15)
#: Tokens of a summary of a community (250 words at most, as JSON), and communities that are not tiny for each
#: name of texts without an index: .009 in a story, .021 in papers of a town, .027 in passages (MuSiQue).
SUMMARY_TOKENS, SUMMARIES_PER_NAME = 350.0, 0.02


@dataclass(frozen=True, slots=True)
class Range:
    """A number that is not known yet: at least, expected, at most.

    What is expected stays as it is given; an end that is on the wrong side of it moves there.
    """

    low: float
    expected: float
    high: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", min(self.low, self.expected))
        object.__setattr__(self, "high", max(self.high, self.expected))

    def __add__(self, other: "Range") -> "Range":
        return Range(self.low + other.low, self.expected + other.expected, self.high + other.high)

    def __mul__(self, other: "Range | float") -> "Range":
        by = other if isinstance(other, Range) else Range(other, other, other)
        return Range(self.low * by.low, self.expected * by.expected, self.high * by.high)

    def at_most(self, other: "Range") -> "Range":
        """Return this number where another limits it."""
        return Range(min(self.low, other.low), min(self.expected, other.expected), min(self.high, other.high))


def exactly(value: float) -> Range:
    """A number that is known."""
    return Range(value, value, value)


def approximately(value: float, *, known: bool) -> Range:
    """A number told from experience: ``known`` where it is that of this very model."""
    low, high = _KNOWN if known else _UNKNOWN
    return Range(value * low, value, value * high)


def reply_length(seen: float | None, guess: float) -> Range:
    """Return the tokens of a reply; ``seen``: of an average one of this model, None where none is known."""
    return approximately(guess if seen is None else seen, known=seen is not None)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Calls of one stage with their tokens; ``cached`` units need none, their replies are cached."""

    stage: str
    task: str
    model: str
    calls: Range
    input_tokens: Range
    output_tokens: Range
    cached: int = 0

    @property
    def tokens(self) -> Range:
        """Tokens in and out."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class MethodSize:
    """Model calls, and tokens sent, for one question with one search method."""

    calls: Range
    input_tokens: Range


@dataclass(frozen=True, slots=True)
class Plan:
    """Estimates by stage, and the prices that are known. ``experienced``: the model's replies are known."""

    corpus: str
    text_units: int
    estimates: list[Estimate] = field(default_factory=list)
    prices: dict[str, Price] = field(default_factory=dict)
    experienced: bool = False

    @property
    def tokens(self) -> Range:
        """Tokens of all stages, in and out."""
        total = Range(0, 0, 0)
        for one in self.estimates:
            total = total + one.tokens
        return total


#: Tokens of a prompt without its material.
_PROMPT = 700
#: Calls that judge the support of an answer's statements, and tokens of these with their words in one.
_JUDGING, _STATEMENTS = Range(0.0, 1.0, 4.0), 1000


def with_support_judging(size: MethodSize, judge: JudgeName) -> MethodSize:
    """Add what a chat model is asked about the support of the answer's statements, where it judges."""
    if judge != "model" or not size.calls.high:
        return size
    return MethodSize(size.calls + _JUDGING, size.input_tokens + _JUDGING * (_PROMPT + _STATEMENTS))
