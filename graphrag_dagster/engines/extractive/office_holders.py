"""Who holds an office: the office that a question asks for, and the sentences that name its holder (English).

"Who is the CFO of Ostrel?" wants an apposition ("Ada Rusk, the chief financial officer"), a copula ("Our CFO
is Ada Rusk") or a title before a name ("CFO Ada Rusk"), not any sentence with both words.
"""

import re
from dataclasses import dataclass

from graphrag_dagster.engines.extractive.names import name_wordlists as wordlists
from graphrag_dagster.engines.extractive.parsing.type_lexicon import PEOPLE
from graphrag_dagster.kernel.text.english_words import OFFICES, STOP_WORDS
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.text_similarity import stem, words

_DETERMINER = r"(?:(?:the|a|an|our|its|their|your|his|her|current|present|former|new|first|last|then)\s+)*"
_NAMED = r"[A-Z0-9][\w&.-]*(?:['’]s?)?"
_ASKS = re.compile(
    r"\s*(?i:who(?:['’]s|\s+(?:is|was|are|were|became|serve[sd]\s+as|act(?:s|ed)\s+as))"
    rf"|what(?:['’]s|\s+(?:is|was))\s+the\s+name\s+of)\s+(?i:{_DETERMINER})"
    rf"(?:(?P<owner>{_NAMED}(?:\s+{_NAMED}){{0,3}}['’]s?)\s+)?(?i:{_DETERMINER})"
    r"(?P<office>[\w-]+(?:\s+[\w-]+){0,5}?)"
    rf"(?:\s+(?:of|at|for|in|from|on|with)\s+(?:the\s+)?(?P<body>{_NAMED}(?:\s+(?:(?:of|and|the|for)\s+)*{_NAMED})*)"
    r".*|\s+(?:in|on|during|since|by)\s+.*)?\s*\?*\s*\Z"
)
_PERSON = r"(?:[A-Z][\w'’.-]*\s+){1,3}[A-Z][\w'’-]*\w"
_PERSONS = re.compile(_PERSON)
#: Between a holder and the office, with other offices: ", executive vice president and".
_LEADS_TO_OFFICE = re.compile(
    r"(?:\s+(?:is|was|became|as|served\s+as|serves\s+as|named|appointed)|,(?:\s+who\s+(?:is|was))?|\s+[—–-]|\s*\()"
    rf"\s*(?i:{_DETERMINER})(?:(?!(?:whose|which|who|where|when|that|said|says|told|asked|with)\b)[\w&'’-]+,?\s+){{0,8}}"
)
#: Also of one name: "Fred, Scrooge's nephew", "Fan, the sister of Scrooge".
_APPOSED = re.compile(
    rf"(?P<person>[A-Z][\w'’-]*\w(?:\s+[A-Z][\w'’-]*\w){{0,3}}),\s+(?i:{_DETERMINER})"
    rf"(?:{_NAMED}(?:\s+{_NAMED}){{0,3}}\s+)?"
    r"(?:(?!(?:whose|which|who|where|when|that|and|or)\b)[a-z][\w-]*\s+){0,2}\Z"
)
#: Between the office and its holder: " of Ostrel is".
_LEADS_TO_HOLDER = (
    r"(?:\s+(?:of|at|for)\s+(?:the\s+)?[A-Z][\w&.'’-]*(?:\s+[A-Z][\w&.'’-]*){0,4})?"
    r"(?:,\s+|\s+(?:is|was|are)\s+|\s+[—–-]\s+|:\s+|\s+)"
)
_MOST_APPOSED = 100
_NO_NAMES = (
    PEOPLE
    | STOP_WORDS
    | wordlists.CALENDAR
    | {"executive", "vice", "chief", "officer", "senior", "deputy", "of"}
)


@dataclass(frozen=True, slots=True)
class Office:
    """An office as asked for: its spellings, lower case, and the words of whose office it is, as stems."""

    names: tuple[str, ...]
    body: frozenset[str]


def office_asked(question: str) -> Office | None:
    """Return the office that a question wants the holder of; None if it wants something else.

    >>> office_asked("Who is the CFO of Ostrel?").names
    ('cfo', 'chief financial officer')
    """
    asked = _ASKS.match(question)
    if not asked:
        return None
    office = " ".join(asked["office"].lower().split())
    head = office.split(" of ")[0].split()[-1]
    if head not in PEOPLE and office not in OFFICES and office not in OFFICES.values():
        return None
    body = asked["body"] or asked["owner"] or ""
    return Office(spellings(office), frozenset(stem(word) for word in words(body) if len(word) > 1))


def spellings(office: str) -> tuple[str, ...]:
    """Return an office and what it is also called: its abbreviation, or what that stands for."""
    others = [full for short, full in OFFICES.items() if short == office]
    others += [short for short, full in OFFICES.items() if full == office]
    return office, *others


def holders(sentence: str, office: Office) -> list[Span]:
    """Return where a sentence names who holds an office.

    Args:
        sentence: without the label of its speaker.
        office: as asked for.
    """
    titled = "|".join(r"[\s-]+".join(map(re.escape, name.split())) for name in office.names)
    title = re.compile(rf"\b(?:{titled})\b", re.IGNORECASE)
    behind = re.compile(rf"{_LEADS_TO_HOLDER}(?P<person>{_PERSON})")
    found: list[Span] = []
    for match in title.finditer(sentence):
        before = [one for one in _PERSONS.finditer(sentence, 0, match.start()) if _is_person(one[0])]
        apposed = _APPOSED.search(sentence, max(0, match.start() - _MOST_APPOSED), match.start())
        if apposed and _is_person(apposed["person"]):
            found.append(Span(*apposed.span("person")))
        elif before and _LEADS_TO_OFFICE.fullmatch(sentence, before[-1].end(), match.start()):
            found.append(Span(*before[-1].span()))
        elif (after := behind.match(sentence, match.end())) and _is_person(after["person"]):
            found.append(Span(*after.span("person")))
    return found


def _is_person(name: str) -> bool:
    parts = words(name)
    return not any(part in _NO_NAMES or not part.isalpha() for part in parts)
