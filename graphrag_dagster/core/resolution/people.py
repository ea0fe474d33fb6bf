"""What people decided of names: which are the same, which are different."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from graphrag_dagster.core.text.names import normalise
from graphrag_dagster.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Decisions:
    """Names that a person says are one, and names of which no two are.

    ``same`` and ``different`` hold groups of names as they are written; upper and lower case are alike. A
    group of ``same`` may be said in parts: if A is B and B is C, then A is C.
    """

    same: Sequence[Sequence[str]] = ()
    different: Sequence[Sequence[str]] = ()

    def links(self) -> "Links":
        """Return the decisions as they bind.

        Raises:
            SettingsError: two names are said to be the same, perhaps by way of others, and different.
        """
        parents: dict[str, str] = {}
        for group in self.same:
            names = _names(group, "same")
            for name in names[1:]:
                _join(parents, names[0], name)
        apart: set[tuple[str, str]] = set()
        for group in self.different:
            for one, other in combinations(_names(group, "different"), 2):
                roots = _root(parents, one), _root(parents, other)
                if roots[0] == roots[1]:
                    raise SettingsError(
                        f"{one!r} and {other!r} are said to be different, and to be the same"
                        f"{self._way(one, other)}: take one of the two decisions back"
                    )
                apart.add((min(roots), max(roots)))
        return Links({name: _root(parents, name) for name in parents}, frozenset(apart))

    def _way(self, one: str, other: str) -> str:
        """Return by way of which names two are the same, as a part of a message."""
        reached = {one: [one]}
        open_names = [one]
        while open_names:
            name = open_names.pop(0)
            for group in self.same:
                names = _names(group, "same")
                if name in names:
                    for following in names:
                        if following not in reached:
                            reached[following] = [*reached[name], following]
                            open_names.append(following)
        between = reached[other][1:-1]
        return f" by way of {', '.join(map(repr, between))}" if between else ""


@dataclass(frozen=True)
class Links:
    """Decisions that contradict each other nowhere: who stands for a group, and which groups are apart."""

    roots: dict[str, str]
    different: frozenset[tuple[str, str]]

    @cached_property
    def named_apart(self) -> frozenset[str]:
        """The names that are said to be different from others."""
        return frozenset(name for pair in self.different for name in pair)

    def root(self, name: str) -> str:
        """Return the name that stands for all that are the same as this one."""
        key = normalise(name)
        return self.roots.get(key, key)

    def decided(self, name: str) -> bool:
        """Whether a person says that a name is the same as another."""
        return normalise(name) in self.roots

    def spoken_of(self, name: str) -> bool:
        """Whether a person says anything of a name."""
        return self.decided(name) or self.root(name) in self.named_apart

    def together(self, one: str, other: str) -> bool:
        """Whether a person says that two names are the same."""
        return self.decided(one) and self.root(one) == self.root(other)

    def apart(self, one: str, other: str) -> bool:
        """Whether a person says that two names are different."""
        roots = self.root(one), self.root(other)
        return (min(roots), max(roots)) in self.different


def _names(group: Iterable[str], key: str) -> list[str]:
    names = list(dict.fromkeys(map(normalise, group)))
    if len(names) < 2 or not all(names):
        raise SettingsError(
            f"{key}: {list(group)!r} must hold two different names at least, none of them empty"
        )
    return names


def _root(parents: dict[str, str], name: str) -> str:
    while parents.get(name, name) != name:
        name = parents[name]
    return name


def _join(parents: dict[str, str], one: str, other: str) -> None:
    first, second = sorted((_root(parents, one), _root(parents, other)))
    parents[one], parents[other] = parents.get(one, one), parents.get(other, other)
    parents[second], parents[first] = first, first
