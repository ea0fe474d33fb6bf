"""What two names cannot be one with, whatever else speaks for it."""

from graphrag_dagster.core.language.extractive.names.wordlists import (
    FEMALE_NAMES,
    FEMALE_TITLES,
    MALE_NAMES,
    MALE_TITLES,
)
from graphrag_dagster.core.resolution.pairs.features import PARTS, given_names_agree
from graphrag_dagster.core.resolution.pairs.parsing import ParsedName
from graphrag_dagster.core.resolution.pairs.wordlists import OPPOSITES
from graphrag_dagster.core.text.names import normalise

_SHORT = frozenset({"acronym", "loose_acronym"})
_PARTS = PARTS | {"family_alone", "given_alone", "without_middle"}
_DEFINED = frozenset({"defined", "called"})
_SIGNS = frozenset("+#%°$€£¥")
_CLOSED = frozenset({"time", "number"})


def veto(one: ParsedName, other: ParsedName, found: dict[str, float], *, within_document: bool) -> str:
    """Return why two names cannot be one, in words; nothing where they can.

    Args:
        one: a name.
        other: another.
        found: their features.
        within_document: whether both stand in one document, so that one may be short for the other.
    """
    if (one.bare or other.bare) and _squeezed(one) != _squeezed(other) and not found.keys() & _DEFINED:
        return "a name of a single letter, or of none, is one only with itself"
    if _signs(one) != _signs(other) and not found.keys() & _DEFINED:
        return f"signs differ: {_signs(one) or 'none'} and {_signs(other) or 'none'}"
    if one.words == other.words and one.kind == other.kind:
        return _of_persons(one, other) or _legal_forms(one, other)
    return (
        _kinds(one, other)
        or _of_persons(one, other)
        or _numbers(one, other, found)
        or _part_of_another_type(one, other, found)
        or _opposites(one, other)
        or _generic(one, other, found)
        or ("" if within_document else _short_elsewhere(found))
    )


def _signs(name: ParsedName) -> str:
    """Return the signs that make another thing of a name ("S9+", "C#", "10 %")."""
    return "".join(sorted(set(name.name) & _SIGNS))


def _squeezed(name: ParsedName) -> str:
    return "".join(normalise(name.name).split())


def _kinds(one: ParsedName, other: ParsedName) -> str:
    kinds = {one.kind, other.kind}
    if len(kinds) == 1:
        return "times and numbers are one only where they are spelled alike" if kinds & _CLOSED else ""
    if kinds & _CLOSED or ("person" in kinds and kinds != {"person", "other"}):
        return f"types cannot be those of one entity: {one.kind} and {other.kind}"
    return ""


def _legal_forms(one: ParsedName, other: ParsedName) -> str:
    if one.form and other.form and one.form != other.form:
        return f"legal forms differ: {one.form} and {other.form}"
    return ""


def _of_persons(one: ParsedName, other: ParsedName) -> str:
    if not one.kind == other.kind == "person":
        return ""
    if one.generation and other.generation and one.generation != other.generation:
        return f"generations differ: {one.generation} and {other.generation}"
    for first, second in ((one.address, other.address), (other.address, one.address)):
        if first & MALE_TITLES and second & FEMALE_TITLES:
            return "forms of address are of a man and of a woman"
    for titled, named in ((one, other), (other, one)):
        man, woman = (named.given[:1] and named.given[0] in names for names in (MALE_NAMES, FEMALE_NAMES))
        if (titled.address & FEMALE_TITLES and man and not woman) or (
            titled.address & MALE_TITLES and woman and not man
        ):
            return f"form of address and given name are of a man and of a woman: {named.given[0]}"
    if one.given and other.given and one.meaningful[-1] == other.meaningful[-1]:
        agree = any(
            given_names_agree(first, second)
            for first in one.given[:1] + tuple(one.nicknames)
            for second in other.given[:1] + tuple(other.nicknames)
        )
        inside = set(one.given) <= set(other.given) or set(other.given) <= set(one.given)
        if not agree and not inside:
            return f"given names differ: {one.given[0]} and {other.given[0]}"
        if len(one.given) == len(other.given) and not all(map(given_names_agree, one.given, other.given)):
            return "middle names differ"
    return ""


def _numbers(one: ParsedName, other: ParsedName, found: dict[str, float]) -> str:
    if sorted(one.numbers) == sorted(other.numbers) or found.keys() & (_DEFINED | {"country"}):
        return ""
    if one.numbers and other.numbers:
        return f"numbers differ: {' '.join(one.numbers)} and {' '.join(other.numbers)}"
    if one.kind == other.kind == "person" or found.keys() & _SHORT:
        return ""
    return f"only one has a number: {' '.join(one.numbers or other.numbers)}"


def _part_of_another_type(one: ParsedName, other: ParsedName, found: dict[str, float]) -> str:
    if one.kind != other.kind and found.keys() & _PARTS and not found.keys() & _DEFINED:
        return f"one name is a part of the other, types differ: {one.kind} and {other.kind}"
    return ""


def _opposites(one: ParsedName, other: ParsedName) -> str:
    for words in OPPOSITES:
        first, second = words.intersection(one.words), words.intersection(other.words)
        if first and second and first != second:
            return f"one is {' '.join(sorted(first))}, the other {' '.join(sorted(second))}"
    return ""


def _generic(one: ParsedName, other: ParsedName, found: dict[str, float]) -> str:
    if found.keys() & _DEFINED:
        return ""
    for name in (one, other):
        if name.generic and found.keys() & _PARTS:
            return f"{name.name!r} is a kind of thing, and no text defines it"
    return ""


def _short_elsewhere(found: dict[str, float]) -> str:
    if found.keys() & (_PARTS - {"without_middle"}):
        return "a short form stands for a fuller name only inside a document"
    if found.keys() & _SHORT and not found.keys() & (_DEFINED | {"country"}):
        return "no document says what the letters stand for"
    return ""
