"""Estimates the length of an extraction reply from the names in a text, before anything is sent.

A reply has records for things and for pairs of things, so a text that names many gets a long one. The lengths
are measured on 84 published replies of gpt-4o (``benchmarks/README.md``): not every name becomes a record.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from graphrag_dagster.kernel.text.sentences import sentence_spans

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
