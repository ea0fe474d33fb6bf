"""Expected lengths of the replies of an extraction, and the calls of its conversations.

A reply has records for things and for pairs of things, so a text that names many gets a long one. The lengths
are measured on 84 published replies of gpt-4o (``benchmarks/real_replies.py``): not every name becomes a
record.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

from graphrag_dagster.kernel.models.call_estimates import Range, exactly, reply_length
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans

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
_GLEANED = 0.5


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

    Every continuation sends the whole conversation again (paper §3.1.2).

    Args:
        prompts: tokens of the first request of each unit.
        replies: tokens of the first reply that is expected of each unit.
        rounds: most continuations per unit.
        check_first: whether it is asked before each continuation if anything is missing.
        turn: tokens of the prompt of a check or a continuation.
        seen: tokens of an average reply of this model to such a request; None where it is not known.
    """
    count = len(prompts)
    first = reply_length(seen, sum(replies) / max(count, 1))
    gleaned = first * _GLEANED
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
