"""Names of entity types in questions: the corpus's types, their plurals and usual synonyms."""

import re
from collections.abc import Mapping

from graphrag_dagster.kernel.questions.context.index import IndexSnapshot
from graphrag_dagster.kernel.retrieval.words import fold

#: Words for the same type; a corpus calls it by one of them.
_SYNONYMS = tuple(
    frozenset(words.split(", "))
    for words in (
        "person, people, individual, human, man, woman, who",
        "organization, organisation, org, company, firm, business, institution, body, agency, enterprise",
        "geo, place, location, city, town, country, region, gpe, loc, site",
        "event, happening, occurrence",
        "vessel, ship, boat",
        "law, statute, regulation, legal act",
        "work, publication, title",
        "concept, idea, notion",
        "product, article, good",
    )
)
_ANY = frozenset({"entity", "thing", "name", "node", "what", "any"})
_NUMBERED = {"people": "person", "men": "man", "women": "woman", "persons": "person"}
_ES = re.compile(r"(?:s|x|z|ch|sh)es\Z")
_NOT_PLURAL = ("ss", "us", "is")
_BEFORE = re.compile(
    r"\A(?:(?:all|the|of|different|distinct|unique|named|other|which|what|how many|entities of type|type)"
    r"\s+)+",
    re.IGNORECASE,
)
_AFTER = re.compile(r"\s+(?:entities|entity)\Z", re.IGNORECASE)
_JOINED = re.compile(r"\s*(?:,|/|\band\b|\bor\b)\s*", re.IGNORECASE)


def types_named(phrase: str, index: IndexSnapshot) -> tuple[str, ...] | None:
    """Return the types of a corpus that a phrase names, in order; none for entities of whatever type.

    Returns:
        None where a part of the phrase names no type of the corpus.
    """
    known = index.once(_by_word)
    if not phrase.strip():
        return ()
    bare = _BEFORE.sub("", phrase.strip())
    found: dict[str, None] = {}
    for part in filter(None, _JOINED.split(bare)) if bare else (phrase,):
        inner = _AFTER.sub("", part)
        word = _singular(inner)
        if word in _ANY or inner.lower() in {"entity", "entities"}:
            return ()
        if word not in known:
            # Whoever it is, where a corpus has no people.
            return () if word == "who" else None
        found.update(dict.fromkeys(known[word]))
    return tuple(found)


def _by_word(index: IndexSnapshot) -> Mapping[str, tuple[str, ...]]:
    own: dict[str, tuple[str, ...]] = {}
    for one in sorted(index.entities["type"].unique()):
        own[_singular(one)] = (*own.get(_singular(one), ()), one)
    alike: dict[str, tuple[str, ...]] = {}
    for words in _SYNONYMS:
        types = tuple(one for word in sorted(words) for one in own.get(word, ()))
        if types:
            alike |= dict.fromkeys(words, types)
    return alike | own


def _singular(words: str) -> str:
    """The last of the words in the singular, all without case, accents and signs between them."""
    *before, last = fold(words.replace("_", " ").replace("-", " ")).split() or [""]
    if last in _NUMBERED:
        last = _NUMBERED[last]
    elif last.endswith("ies") and len(last) > 4:
        last = last[:-3] + "y"
    elif _ES.search(last):
        last = last[:-2]
    elif last.endswith("s") and not last.endswith(_NOT_PLURAL):
        last = last[:-1]
    return " ".join([*before, last.replace("isation", "ization")])
