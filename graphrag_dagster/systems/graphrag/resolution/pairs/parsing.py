"""Parts of a name: its words without title and legal form, its numbers, its initials."""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, Literal

from graphrag_dagster.kernel.text.similarity import clean
from graphrag_dagster.systems.graphrag.resolution.pairs.wordlists import (
    ADDRESS,
    ARTICLES,
    FORMS,
    GENERATIONS,
    KINDS_OF_THINGS,
    NUMERALS,
    PARTICLES,
)

Kind = Literal["person", "organisation", "place", "time", "number", "other"]

_KINDS: Final[dict[str, Kind]] = {
    **dict.fromkeys(("PER", "PERSON", "PEOPLE", "CHARACTER"), "person"),
    **dict.fromkeys(("ORG", "ORGANIZATION", "ORGANISATION", "COMPANY", "INSTITUTION"), "organisation"),
    **dict.fromkeys(("LOC", "GEO", "GPE", "LOCATION", "PLACE", "FAC", "COUNTRY", "CITY"), "place"),
    **dict.fromkeys(("TIME", "DATE"), "time"),
    **dict.fromkeys(("NUM", "NUMBER", "MONEY", "PERCENT", "QUANTITY", "CARDINAL", "ORDINAL"), "number"),
}
_DOTTED = re.compile(r"\b[^\W\d_](?:\.\s?[^\W\d_]\b)+\.?")
_DOTS, _NO_WORD = re.compile(r"[.\s]"), re.compile(r"[^a-z0-9.,]")
_NICKNAME = re.compile(r"[\"“”«»(]\s*([^\W\d_]+)\s*[\"“”«»)]")
_POSSESSIVE = re.compile(r"\s?['’`]\s?s\b")
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’`][^\W\d_]+)*")
_ACRONYM = re.compile(r"[^\W\d_]{2,8}")


@dataclass(frozen=True)
class ParsedName:
    """A name taken apart; every word in lower case and Latin letters.

    ``words`` lack articles, forms of address and legal forms, which stand in ``address`` and ``form``;
    ``whole`` has all but the articles. ``acronym`` holds the letters of a name that is one, else nothing.
    """

    name: str
    kind: Kind
    words: tuple[str, ...]
    whole: tuple[str, ...]
    address: frozenset[str]
    form: str
    generation: str
    nicknames: frozenset[str]
    numbers: tuple[str, ...]
    acronym: str

    @cached_property
    def key(self) -> str:
        """The words with blanks between."""
        return " ".join(self.words)

    @cached_property
    def meaningful(self) -> tuple[str, ...]:
        """The words without particles; all of them where there are no others."""
        return tuple(word for word in self.words if word not in PARTICLES) or self.words

    @cached_property
    def family(self) -> tuple[str, ...]:
        """The family name of a person: the last word, unless the name says of where the person is."""
        return self.meaningful[-1:] if self.kind == "person" and "of" not in self.words else ()

    @cached_property
    def given(self) -> tuple[str, ...]:
        """The given names of a person; all words before the last."""
        return self.meaningful[:-1] if self.kind == "person" else ()

    @cached_property
    def generic(self) -> bool:
        """Whether every word is of a kind of thing ("the company"), of a person a form of address."""
        kinds = ADDRESS if self.kind == "person" else KINDS_OF_THINGS
        return all(word in kinds or word in PARTICLES for word in self.words)

    @cached_property
    def bare(self) -> bool:
        """Whether there is a single letter, or no letter at all."""
        return sum(map(str.isalpha, self.name)) < 2


def kind_of(type_name: str) -> Kind:
    """Return what kind of thing a type of entities is; ``other`` where that is not known."""
    return _KINDS.get(type_name.upper(), "other")


@lru_cache(maxsize=100_000)
def parsed(name: str, kind: Kind) -> ParsedName:
    """Return a name taken apart.

    Args:
        name: as written; upper case throughout will do.
        kind: see :func:`kind_of`; forms of address are those of persons, legal forms those of others.
    """
    written = clean(name)
    nicknames: frozenset[str] = frozenset()
    if kind == "person":
        nicknames = frozenset(word for one in _NICKNAME.findall(written) for word in _folded(one))
        written = _NICKNAME.sub(" ", written) if _NICKNAME.sub("", written).strip() else written
        family, comma, given = written.partition(", ")
        if comma and given.lower().rstrip(".") not in GENERATIONS:
            written = f"{given} {family}"
    # Of persons "J. H." are two names, of others "U. S." is one word.
    words = _folded(written if kind == "person" else _DOTTED.sub(_undotted, written)) or (
        written.casefold() or name,
    )
    while len(words) > 1 and words[0] in ARTICLES:
        words = words[1:]
    rest, address, generation, form = words, [], "", ""
    if kind == "person":
        while len(rest) > 1 and rest[0] in ADDRESS and rest[1] != "of":
            address.append(rest[0])
            rest = rest[1:]
        if len(rest) > 1 and rest[-1] in GENERATIONS:
            generation, rest = GENERATIONS[rest[-1]], rest[:-1]
    while kind in {"organisation", "other"} and len(rest) > 1 and rest[-1] in FORMS:
        form, rest = rest[-1], rest[:-1]
    last = (NUMERALS[rest[-1]],) if len(rest) > 1 and rest[-1] in NUMERALS else ()
    return ParsedName(
        name=name,
        kind=kind,
        words=rest[:-1] + last if last else rest,
        whole=words,
        address=frozenset(address),
        form=form,
        generation=generation,
        nicknames=nicknames,
        numbers=tuple(word for word in rest if word[:1].isdigit()) + last,
        acronym=_acronym(written),
    )


def initials(words: tuple[str, ...]) -> tuple[str, str]:
    """Return the first letters of all words, and those of the words that are no particles.

    Numbers have none ("Apple II" is not AI).
    """
    lettered = [word for word in words if not word[0].isdigit() and word not in GENERATIONS]
    return "".join(word[0] for word in lettered), "".join(
        word[0] for word in lettered if word not in PARTICLES
    )


def _folded(text: str) -> tuple[str, ...]:
    from anyascii import anyascii

    latin = (anyascii(word).lower() for word in _WORD.findall(_POSSESSIVE.sub("s", text)))
    return tuple(word for word in (_NO_WORD.sub("", one) for one in latin) if word)


def _undotted(found: re.Match[str]) -> str:
    return _DOTS.sub("", found[0]) + " "


def _acronym(written: str) -> str:
    """Return the letters of a name of one word in capitals, dots and articles aside."""
    words = [word for word in written.split() if word.lower() not in ARTICLES]
    letters = "".join(words).replace(".", "")
    capitals = sum(map(str.isupper, letters))
    one_word = len(words) == 1 or all(len(word.rstrip(".")) == 1 for word in words)
    if not one_word or not _ACRONYM.fullmatch(letters) or capitals * 2 <= len(letters):
        return ""
    return "".join(_folded(letters))
