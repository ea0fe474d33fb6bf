"""Who did what a question asks for, or to whom: "Who sold it?" wants the seller, not the buyer (English)."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from graphrag_dagster.kernel.text.english_words import STOP_WORDS
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.text_similarity import stem, words

_WHO_DID = re.compile(
    r"\bwho (?:(?:had|has|have|also|first|once|later|actually|really|[a-z]+ly) )*(?P<verb>[a-z]+)\b",
    re.IGNORECASE,
)
_TO_WHOM = re.compile(
    r"\b[Ww]hom? (?:did|does|do) "
    r"(?:he|she|it|they|we|you|(?:the )?(?P<name>[A-Z][\w'’-]*(?: (?:of )?[A-Z][\w'’-]*)*)) "
    r"(?P<verb>[a-z]+)\b"
)
_COPULAS = frozenset({"become", "became", "becomes", "s"})
_WORD = re.compile(r"[^\W_]+(?:['’]t)?")
_NEGATED = re.compile(r"(?:not|never|no|nobody|neither|[a-z]+n['’]t)\Z", re.IGNORECASE)
_PASSIVE = frozenset({"is", "are", "was", "were", "be", "been", "being", "got"})
#: Words before a verb among which its negation or the auxiliary of a passive stands, and after it "by".
_BEFORE, _AFTER = 3, 8
_BY = re.compile(r"\bby(?: (?:the|a|an|his|her|their|its))?(?: [a-z]+){0,2} \Z")


class Deed(NamedTuple):
    """What was done, as a stem, whether a question asks to whom instead of by whom, and who did it."""

    verb: str
    to_whom: bool = False
    by: frozenset[str] = frozenset()


def deed_asked(question: str) -> Deed | None:
    """Return what was done by or to somebody whom a question asks for; None where it asks for nobody.

    >>> deed_asked("Who sold the mill?"), deed_asked("Who was the miller?")
    (Deed(verb='sell', to_whom=False, by=frozenset()), None)
    >>> deed_asked("Whom did Ada meet?")
    Deed(verb='meet', to_whom=True, by=frozenset({'ada'}))
    """
    if found := _TO_WHOM.search(question):
        return Deed(stem(found["verb"]), to_whom=True, by=frozenset(words(found["name"] or "")))
    found = _WHO_DID.search(question)
    verb = found["verb"].lower() if found else ""
    return None if not verb or verb in STOP_WORDS or verb in _COPULAS else Deed(stem(verb))


def doers(sentence: str, deed: Deed, names: Sequence[Span]) -> list[Span]:
    """Return which names of a sentence may have done something, or had it done to them, the likeliest first.

    Who did it is the nearest before the verb, or behind "by" after it; to whom, those behind the verb, and of
    a passive those before it. Nobody where the sentence has the verb only with a negation, or not at all, or
    names somebody else than a question that asks to whom.

    Args:
        sentence: with tidy white space.
        deed: what was done.
        names: of persons or what may be some, in their order.
    """
    if deed.by and deed.by.isdisjoint(words(sentence)):
        return []
    tokens = list(_WORD.finditer(sentence))
    found: list[Span] = []
    for place, token in enumerate(tokens):
        if stem(token[0].lower()) != deed.verb:
            continue
        before = [one[0].lower() for one in tokens[max(0, place - _BEFORE) : place]]
        if any(map(_NEGATED.match, before)):
            continue
        last = tokens[min(place + _AFTER, len(tokens) - 1)].end()
        after = [one for one in names if one.start > token.end()]
        nearest = [one for one in reversed(names) if one.end <= token.start()]
        named_by = [one for one in after if one.start <= last and _BY.search(sentence[: one.start])]
        passive = bool(named_by) or not _PASSIVE.isdisjoint(before)
        if deed.to_whom:
            found += nearest if passive else after
        else:
            found += named_by if passive else nearest
    return list(dict.fromkeys(found))
