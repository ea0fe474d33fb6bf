"""Who did what a question asks for: "Who sold the mill?" wants the seller, not the buyer (English)."""

import re
from collections.abc import Sequence

from graphrag_dagster.kernel.text.english_words import STOP_WORDS
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.text_similarity import stem

_WHO_DID = re.compile(
    r"\bwho (?:(?:had|has|have|also|first|once|later|actually|really|[a-z]+ly) )*(?P<verb>[a-z]+)\b",
    re.IGNORECASE,
)
_COPULAS = frozenset({"become", "became", "becomes", "s"})
_WORD = re.compile(r"[^\W_]+(?:['’]t)?")
_NEGATED = re.compile(r"(?:not|never|no|nobody|neither|[a-z]+n['’]t)\Z", re.IGNORECASE)
_PASSIVE = frozenset({"is", "are", "was", "were", "be", "been", "being", "got"})
#: Words before a verb among which its negation or the auxiliary of a passive stands, and after it "by".
_BEFORE, _AFTER = 3, 8
_BY = re.compile(r"\bby(?: (?:the|a|an|his|her|their|its))?(?: [a-z]+){0,2} \Z")


def verb_asked(question: str) -> str:
    """Return the stem of what somebody did whom a question asks for; blank where it asks for nobody.

    >>> verb_asked("Who sold the mill?"), verb_asked("Who was the miller?"), verb_asked("Who did she meet?")
    ('sell', '', '')
    """
    found = _WHO_DID.search(question)
    verb = found["verb"].lower() if found else ""
    return "" if verb in STOP_WORDS or verb in _COPULAS else stem(verb)


def doers(sentence: str, verb: str, names: Sequence[Span]) -> list[Span]:
    """Return which names of a sentence may have done something, the likeliest first.

    Those are the nearest before the verb, and behind "by" after it; nobody where the sentence has the verb
    only with a negation, or not at all.

    Args:
        sentence: with tidy white space.
        verb: stem of what was done.
        names: of persons or what may be some, in their order.
    """
    tokens = list(_WORD.finditer(sentence))
    found: list[Span] = []
    for place, token in enumerate(tokens):
        if stem(token[0].lower()) != verb:
            continue
        before = [one[0].lower() for one in tokens[max(0, place - _BEFORE) : place]]
        if any(map(_NEGATED.match, before)):
            continue
        last = tokens[min(place + _AFTER, len(tokens) - 1)].end()
        named_by = [
            one for one in names if token.end() < one.start <= last and _BY.search(sentence[: one.start])
        ]
        if not named_by and _PASSIVE.isdisjoint(before):
            named_by = [one for one in reversed(names) if one.end <= token.start()]
        found += named_by
    return list(dict.fromkeys(found))
