"""Namesakes: one spelling that is several entities in different documents, told apart with care.

Two things tell them apart: titles of documents that say themselves which bearer they are of ("The Hunt
(2012 film)"), and a person with a known given name where others have a thing, in documents that name nothing
rare in common: types alone are too often wrong.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from graphrag_dagster.engines.extractive.names.name_wordlists import FEMALE_NAMES, MALE_NAMES
from graphrag_dagster.kernel.text.text_similarity import normalise
from graphrag_dagster.systems.graphrag.resolution.name_parsing import kind_of, parse_name

#: A name and its type.
Name = tuple[str, str]

#: Mentions in a document from which on its type of a name is taken for more than a slip.
_FIRM: Final = 2
#: A name is rare, and what documents have in common, where it stands in no larger share of them than this.
_RARE: Final = 0.05
_LEAST_RARE: Final = 3
#: Kinds of things that a person is not.
_SIDES: Final = {"person": "person", "place": "thing", "organisation": "thing"}
_QUALIFIED = re.compile(r"(?P<name>.*\S)\s*\((?P<by>[^()]*[^\W\d_][^()]*)\)\s*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Bearer:
    """A name of a document that stands for itself, not for a fuller one: how often it is mentioned there."""

    document: str
    name: Name
    count: int


def split_namesakes(
    bearers: Iterable[Bearer], titles: Mapping[str, str], together: Callable[[str], bool]
) -> tuple[dict[tuple[str, Name], Name], list[set[Name]]]:
    """Return the name under which each bearer is known in the corpus, and which of these are namesakes.

    Equal names, upper and lower case aside, are known under the commonest spelling and type, unless they are
    namesakes: then each is known under the name with what tells it apart in brackets.

    Args:
        bearers: the names of all documents.
        titles: of the documents, where they have any.
        together: whether a person said that a name is one with others, so that all its bearers are.
    """
    by_name: dict[str, list[Bearer]] = defaultdict(list)
    for one in bearers:
        by_name[normalise(one.name[0])].append(one)
    company = _Company(by_name)
    qualified = {document: found for document, title in titles.items() if (found := _split_qualifier(title))}
    known: dict[tuple[str, Name], Name] = {}
    namesakes: list[set[Name]] = []
    for key, bearing_it in sorted(by_name.items()):
        parts = (
            {"": bearing_it}
            if len(bearing_it) == 1 or together(key)
            else _bearers_by_title(key, bearing_it, qualified, company)
            or _bearers_by_kind(bearing_it, company)
        )
        bearing = {tell: _commonest_spelling(part) for tell, part in parts.items()}
        shown = {
            tell: (f"{name} ({tell})", kind) if tell else (name, kind)
            for tell, (name, kind) in bearing.items()
        }
        known |= {(one.document, one.name): shown[tell] for tell, part in parts.items() for one in part}
        if len(parts) > 1:
            namesakes.append(set(shown.values()))
    return known, namesakes


class _Company:
    """Rare names that documents have in common."""

    def __init__(self, by_name: Mapping[str, Sequence[Bearer]]) -> None:
        documents = len({one.document for found in by_name.values() for one in found})
        most = max(_LEAST_RARE, int(documents * _RARE))
        self._rare: dict[str, set[str]] = defaultdict(set)
        for key, found in by_name.items():
            inside = {one.document for one in found}
            if len(inside) <= most and kind_of(found[0].name[1]) not in {"time", "number"}:
                for document in inside:
                    self._rare[document].add(key)

    def shared(self, one: str, other: str, key: str) -> int:
        """Return how many rare names two documents have in common beside one."""
        return len(self._rare[one] & self._rare[other] - {key})


def _split_qualifier(title: str) -> tuple[str, str] | None:
    found = _QUALIFIED.match(title)
    return (normalise(found["name"]), " ".join(found["by"].split())) if found else None


def _bearers_by_title(
    key: str, found: Sequence[Bearer], qualified: Mapping[str, tuple[str, str]], company: _Company
) -> dict[str, list[Bearer]]:
    """Return the bearers by what tells them apart in titles; nothing where titles name less than two.

    A document whose title does not say goes with the one titled document with which it has the most rare
    names in common; where it has none, or as many with another, the name has nothing to tell it apart there.
    """
    homes = {
        one.document: qualified[one.document][1]
        for one in found
        if one.document in qualified and qualified[one.document][0] == key
    }
    if len(set(homes.values())) < 2:
        return {}
    parts: dict[str, list[Bearer]] = defaultdict(list)
    for one in found:
        tell = homes.get(one.document)
        parts[_likeliest_bearer(one.document, homes, company, key) if tell is None else tell].append(one)
    return dict(sorted(parts.items()))


def _likeliest_bearer(document: str, homes: Mapping[str, str], company: _Company, key: str) -> str:
    shared: dict[str, int] = defaultdict(int)
    for home, tell in homes.items():
        shared[tell] = max(shared[tell], company.shared(document, home, key))
    best = max(shared.values())
    tells = [tell for tell, count in shared.items() if count == best]
    return tells[0] if best and len(tells) == 1 else ""


def _bearers_by_kind(found: Sequence[Bearer], company: _Company) -> dict[str, list[Bearer]]:
    """Return bearers of one name apart by what they are, where a document has two of them.

    Else persons with a given name and things are, where each is firm and they have no company in common.
    """
    if len({one.document for one in found}) < len(found):
        alike: dict[str, list[Bearer]] = defaultdict(list)
        for one in found:
            alike[kind_of(one.name[1])].append(one)
        return dict(sorted(alike.items()))
    kinds: dict[str, list[Bearer]] = defaultdict(list)
    for one in found:
        kinds[_SIDES.get(kind_of(one.name[1]), "")].append(one)
    persons, things = kinds["person"], kinds["thing"]
    firm = all(any(one.count >= _FIRM for one in side) for side in (persons, things))
    firm = firm and all(map(_has_given_name, persons))
    key = normalise(found[0].name[0])
    if not firm or any(company.shared(a.document, b.document, key) for a, b in product(persons, things)):
        return {"": list(found)}
    larger, smaller = sorted((persons, things), key=lambda side: -sum(one.count for one in side))
    larger += kinds[""]
    return {kind_of(_commonest_spelling(side)[1]): side for side in (larger, smaller)}


def _has_given_name(one: Bearer) -> bool:
    given = parse_name(one.name[0], "person").words[0]
    return given in MALE_NAMES or given in FEMALE_NAMES


def _commonest_spelling(found: Sequence[Bearer]) -> Name:
    """Return the commonest spelling with the commonest type."""
    if len(found) == 1:
        return found[0].name
    spellings: dict[str, int] = defaultdict(int)
    types: dict[str, int] = defaultdict(int)
    for one in found:
        spellings[one.name[0]] += one.count
        types[one.name[1]] += one.count
    spelling, kind = (min(counts, key=lambda each: (-counts[each], each)) for counts in (spellings, types))
    return spelling, kind
