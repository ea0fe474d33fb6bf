"""Estimates of model calls, made before anything is sent.

A reply has records for things and for pairs of things, so a text that names many gets a long one. The lengths
are measured on 84 published replies of gpt-4o (``benchmarks/real_replies.py``): not every name becomes a
record.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from graphrag_dagster.kernel.catalogue.engines import JudgeName
from graphrag_dagster.kernel.models.model_costs import Price
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans

#: How far replies may be from what is expected of a model whose replies are not known yet, and are known.
_UNKNOWN = (0.5, 1.6)
_KNOWN = (0.85, 1.15)
#: Tokens of a pair of names with the sentences in which they stand.
PAIR = 150
#: Such pairs in a call on average, and tokens of what is said of one.
_PAIRS, _RULING = 17, 40
#: Names without a type in a call on average, tokens of one, and of the label that it is given.
_NAMES, _PER_NAME, _LABEL = 12, 8, 16
#: Tokens of what one text unit says of an entity or a relationship.
DESCRIPTION = 30
#: Tokens of a summary of a community: 250 words at most, as JSON.
_SUMMARY = 350.0


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


def plan_extraction(
    prompts: Sequence[int],
    replies: Sequence[int],
    *,
    rounds: int,
    check_first: bool,
    turn: int,
    seen: float | None = None,
) -> tuple[Range, Range, Range]:
    """Return the calls, input and output tokens of the conversations about some text units.

    Every continuation sends the whole conversation again (spec_graphrag §3).

    Args:
        prompts: tokens of the first request of each unit.
        replies: tokens of the first reply that is expected of each unit.
        rounds: most continuations per unit.
        check_first: whether it is asked before each continuation if anything is missing.
        turn: tokens of the prompt of a check or a continuation.
        seen: tokens of an average reply of this model to such a request; None where it is not known.
    """
    count = len(prompts)
    first = approximately(sum(replies) / max(count, 1) if seen is None else seen, known=seen is not None)
    gleaned = first * GLEANED
    calls, inputs, outputs = exactly(count), exactly(sum(prompts)), first * count
    talk = exactly(sum(prompts)) + first * count
    share = Range(1.0, 1.0, 1.0)
    for round_ in range(rounds):
        if check_first or round_:
            # All may be well at once, or never; most models say that something is missing.
            calls, inputs, outputs = (
                calls + share * count,
                inputs + (talk + exactly(count * turn)) * share,
                outputs + share * count,
            )
            share = Range(share.low * 0.5, share.expected * 0.9, share.high)
        calls = calls + share * count
        inputs = inputs + (talk + exactly(count * turn)) * share
        outputs = outputs + gleaned * share * count
        talk = talk + gleaned * count
    return calls, inputs, outputs


#: Share of the communities that are of C0 or above, of C1 or above, of C2 or above, in graphs of texts:
#: encyclopedias, meetings, talks, reports, documentation, a book. In a graph of movies, whose nodes have many
#: neighbours, it is .01, .11 and .57.
_DOWN_TO = (Range(0.2, 0.45, 0.7), Range(0.6, 0.7, 0.95), Range(0.95, 0.98, 1.0))


def share_of_levels(deepest: int | None) -> Range:
    """Return the share of the communities of a graph that are of a level or above; None: of any level."""
    return exactly(1) if deepest is None or deepest >= len(_DOWN_TO) else _DOWN_TO[deepest]


def plan_reports(
    communities: Range,
    prompt: int,
    context_tokens: int,
    elements: Range,
    seen: float | None,
    deepest: int | None = None,
) -> tuple[Range, Range, Range]:
    """Return the calls, input and output tokens of the reports.

    Args:
        communities: how many of these levels there are.
        prompt: tokens of the prompt without its context.
        context_tokens: most tokens of a context.
        elements: tokens of all entities and relationships; each stands in the reports of all its levels.
        seen: tokens of an average report of this model.
        deepest: level whose reports are the last; None: those of all levels are written.
    """
    levels = Range(1.2, 1.8, 3.0)
    if deepest is not None:
        levels = levels.at_most(exactly(deepest + 1))
    context = (elements * levels).at_most(communities * context_tokens)
    inputs = communities * prompt + context
    written = approximately(600.0 if seen is None else seen, known=seen is not None)
    return communities, inputs, communities * written


def plan_summaries(
    communities: Range, prompt: int, context_tokens: int, elements: Range
) -> tuple[Range, Range]:
    """Return the calls and input tokens of the summaries of communities that are not there yet.

    Args:
        communities: how many will be summarised.
        prompt: tokens of the prompt without a community.
        context_tokens: most tokens of a community.
        elements: tokens of all entities and triples; each stands in one summary.
    """
    return communities, communities * prompt + elements.at_most(communities * context_tokens)


def plan_merging(
    mentions: Iterable[int], *, joined_up_to: int, max_input_tokens: int, prompt: int, seen: float | None
) -> tuple[Range, Range, Range]:
    """Return the calls, input and output tokens of merging descriptions that are not there yet.

    Args:
        mentions: in how many text units each name, and each pair of names, stands.
        joined_up_to: descriptions that have no more tokens together cost no call.
        max_input_tokens: most tokens of descriptions in a call.
        prompt: tokens of the prompt without them.
        seen: tokens of an average reply of this model.
    """
    long = [count * DESCRIPTION for count in mentions if count > 1 and count * DESCRIPTION > joined_up_to]
    # Not every name becomes an entity, and some are spelt in several ways.
    calls = approximately(float(sum(math.ceil(tokens / max_input_tokens) for tokens in long)), known=False)
    inputs = approximately(float(sum(long)), known=False) + calls * prompt
    return calls, inputs, calls * merged_tokens(seen)


def plan_names(
    requests: Sequence[int], pairs: int, more: Range, *, prompt: int, seen: float | None
) -> tuple[Range, Range, Range]:
    """Return the calls, input and output tokens of ruling on pairs of names that the rules leave open.

    Args:
        requests: tokens of the requests that are known.
        pairs: that these ask about.
        more: pairs that there will be besides.
        prompt: tokens of the prompt without pairs.
        seen: tokens of an average reply of this model.
    """
    further = more * (1 / _PAIRS)
    calls = exactly(len(requests)) + further
    inputs = exactly(sum(requests)) + further * prompt + more * PAIR
    if seen is not None:
        return calls, inputs, calls * approximately(seen, known=True)
    return calls, inputs, (exactly(pairs) + more) * approximately(_RULING, known=False)


def summary_tokens(seen: float | None) -> Range:
    """Return the tokens of a summary of a community; ``seen``: of an average one of this model."""
    return approximately(_SUMMARY if seen is None else seen, known=seen is not None)


def plan_typing(
    requests: Sequence[int], names: float, more: Range, *, texts: int, prompt: int, seen: float | None
) -> tuple[Range, Range, Range]:
    """Return the calls, input and output tokens of typing names.

    Args:
        requests: tokens of the requests that are known.
        names: that these ask about.
        more: names that there will be besides.
        texts: tokens of the text units in which those stand.
        prompt: tokens of the prompt without texts and names.
        seen: tokens of an average reply of this model.
    """
    further = more * (1 / _NAMES)
    calls = exactly(len(requests)) + further
    inputs = exactly(sum(requests)) + further * prompt + more * _PER_NAME + exactly(texts if more.high else 0)
    if seen is not None:
        return calls, inputs, calls * approximately(seen, known=True)
    return calls, inputs, (exactly(names) + more) * approximately(_LABEL, known=False)


def merged_tokens(seen: float | None) -> Range:
    """Return the tokens of a merged description."""
    return approximately(150.0 if seen is None else seen, known=seen is not None)


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


_NAME = re.compile(r"[^\W\d_a-z][\w'’&.-]*(?:\s(?:of\s|the\s|de\s|von\s|van\s)?[^\W\d_a-z][\w'’&.-]*)*")
_SMALL = frozenset(
    """
    a an and as at but by for from he her his i if in it its no not of on or she so that the their then there
    these they this to was we what when where which who with you after before each every some many
    """.split()  # noqa: SIM905 - a list of words reads better without quotes.
)

#: Tokens of a reply for each name, and for each pair of names side by side, in a text; JSON takes more signs.
_JSON_TOKENS, _TUPLE_TOKENS = 15.0, 12.6
#: Share of a first reply that the continuation for what was missed has.
GLEANED = 0.5


def names_in(sentence: str) -> list[str]:
    """Return the capitalised names of a sentence, each once, in their order."""
    found = []
    for match in _NAME.finditer(sentence):
        words = match[0].split()
        while words and words[0].lower() in _SMALL:
            words.pop(0)
        if words:
            found.append(" ".join(words).rstrip(".'’-"))
    return list(dict.fromkeys(found))


# A plan looks at each text several times.
@lru_cache(maxsize=4096)
def names_and_pairs(text: str) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
    """Return the names of a text, and the pairs that stand side by side in one of its sentences."""
    sentences = [names_in(text[span.start : span.end]) for span in sentence_spans(text)]
    names = frozenset(name for sentence in sentences for name in sentence)
    return names, frozenset(pair for sentence in sentences for pair in pairwise(sentence))


def reply_tokens(texts: Iterable[str], *, json: bool = True) -> list[int]:
    """Return, for each text, the tokens of the first extraction reply that is to be expected."""
    each = _JSON_TOKENS if json else _TUPLE_TOKENS
    found = map(names_and_pairs, texts)
    return [round(each * (len(names) + len(pairs))) + 1 for names, pairs in found]


#: Tokens of a prompt without its material.
_PROMPT = 700
#: Calls that judge the support of an answer's statements, and tokens of these with their words in one.
_JUDGING, _STATEMENTS = Range(0.0, 1.0, 4.0), 1000


def with_support_judging(size: MethodSize, judge: JudgeName) -> MethodSize:
    """Add what a chat model is asked about the support of the answer's statements, where it judges."""
    if judge != "model" or not size.calls.high:
        return size
    return MethodSize(size.calls + _JUDGING, size.input_tokens + _JUDGING * (_PROMPT + _STATEMENTS))
