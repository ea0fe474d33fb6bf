"""People's decisions on names: which are the same, which are different."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Literal

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.text.text_similarity import normalise


@dataclass(frozen=True)
class NameRuling:
    """A person's decision on names: all are the same, or no two are.

    Attributes:
        verdict: which of the two.
        names: two at least, as they are written; upper and lower case are alike.
        document: of which alone it is said; None for the corpus.
        identity: by which it can be taken back; None for what the settings say.
        who: said it.
        when: it was said, ISO 8601.
    """

    verdict: Literal["same", "different"]
    names: tuple[str, ...]
    document: str | None = None
    identity: str | None = None
    who: str | None = None
    when: str | None = None

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The names as they are compared.

        Raises:
            SettingsError: they are less than two, or one is empty.
        """
        names = tuple(dict.fromkeys(map(normalise, self.names)))
        if len(names) < 2 or not all(names):
            raise SettingsError(
                f"{self.verdict}: {list(self.names)!r} must contain at least two different names, none of "
                "them empty"
            )
        return names


@dataclass(frozen=True)
class Decisions:
    """All that people said. What is the same may be said in parts: if A is B and B is C, then A is C."""

    words: Sequence[NameRuling] = field(default=())

    def links(self, document: str | None = None, *, between: bool = False) -> "DecisionLinks":
        """Return the decisions as they bind.

        Args:
            document: in which names are compared; None where nothing was said of the document alone.
            between: documents are names compared: what is different in any is different.

        Raises:
            SettingsError: two names are said to be the same, perhaps by way of others, and different.
        """
        parents: dict[str, str] = {}
        same = self._decisions_for("same", document)
        for one in same:
            for name in one.keys[1:]:
                _join(parents, one.keys[0], name)
        apart: set[tuple[str, str]] = set()
        for one in self._decisions_for("different", document, between=between):
            for first, second in combinations(one.keys, 2):
                roots = _root(parents, first), _root(parents, second)
                if roots[0] == roots[1]:
                    raise SettingsError(
                        f"{first!r} and {second!r} are declared different, and also the "
                        f"same{_describe_chain(same, first, second)}: undo one of the two decisions"
                    )
                apart.add((min(roots), max(roots)))
        return DecisionLinks({name: _root(parents, name) for name in parents}, frozenset(apart))

    def on(self, one: str, other: str, document: str | None) -> NameRuling | None:
        """Return what was said of two names, in so many words; None where it follows from several words."""
        pair = {normalise(one), normalise(other)}
        said = (
            *self._decisions_for("same", document),
            *self._decisions_for("different", document, between=document is None),
        )
        return next((word for word in said if pair <= set(word.keys)), None)

    def unused(self, present: Mapping[str | None, Set[str]]) -> tuple[NameRuling, ...]:
        """Return the decisions that concern no two names that there are.

        Args:
            present: normalised names by document; None for those of the corpus.
        """
        used: set[int] = set()
        for document in (None, *sorted(self.documents())):
            between = document is None
            links, names = self.links(document, between=between), present.get(document, frozenset())
            there = set(map(links.root, names))
            apart = [
                one
                for one in self._decisions_for("different", document, between=between)
                if len(set(map(links.root, one.keys)) & there) > 1
            ]
            # A name that is gone and said to be different from others keeps those from it that are the same.
            needed = names | {key for one in apart for key in one.keys}
            times = Counter(map(links.root, needed))
            same = [
                one for one in self._decisions_for("same", document) if times[links.root(one.keys[0])] > 1
            ]
            used |= {id(one) for one in apart} | _connecting_decisions(same, needed)
        return tuple(one for one in self.words if id(one) not in used)

    def documents(self) -> frozenset[str]:
        """Return the documents of which alone something is said."""
        return frozenset(document for document in self._by_document if document is not None)

    @cached_property
    def _by_document(self) -> Mapping[str | None, Sequence[NameRuling]]:
        found: dict[str | None, list[NameRuling]] = defaultdict(list)
        for one in self.words:
            found[one.document].append(one)
        return found

    def _decisions_for(
        self, verdict: str, document: str | None, *, between: bool = False
    ) -> list[NameRuling]:
        """Return what is said of all documents, then what of one alone; ``between`` them, what of any."""
        own = () if document is None else self._by_document.get(document, ())
        words = self.words if between else (*self._by_document.get(None, ()), *own)
        return [one for one in words if one.verdict == verdict]


@dataclass(frozen=True)
class DecisionLinks:
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

    def is_decided(self, name: str) -> bool:
        """Whether a person says that a name is the same as another."""
        return normalise(name) in self.roots

    def is_mentioned(self, name: str) -> bool:
        """Whether a person says anything of a name."""
        return self.is_decided(name) or self.root(name) in self.named_apart

    def has_decision(self, one: str, other: str) -> bool:
        """Whether a person says of two names what they are to each other."""
        return self.are_same(one, other) or self.are_different(one, other)

    def are_same(self, one: str, other: str) -> bool:
        """Whether a person says that two names are the same."""
        return self.is_decided(one) and self.root(one) == self.root(other)

    def are_different(self, one: str, other: str) -> bool:
        """Whether a person says that two names are different."""
        roots = self.root(one), self.root(other)
        return (min(roots), max(roots)) in self.different


def _connecting_decisions(same: Sequence[NameRuling], needed: Set[str]) -> set[int]:
    """Return which decisions connect names that are needed, perhaps by way of others."""
    left = {id(one): frozenset(one.keys) for one in same}
    while True:
        times = Counter(name for names in set(left.values()) for name in names)
        pruned = {
            word: frozenset(name for name in names if name in needed or times[name] > 1)
            for word, names in left.items()
        }
        pruned = {word: names for word, names in pruned.items() if len(names) > 1}
        if pruned == left:
            return set(left)
        left = pruned


def _describe_chain(same: Iterable[NameRuling], one: str, other: str) -> str:
    """Return by way of which names two are the same, as a part of a message."""
    groups = [word.keys for word in same]
    reached = {one: [one]}
    open_names = [one]
    while open_names:
        name = open_names.pop(0)
        for names in groups:
            if name in names:
                for following in names:
                    if following not in reached:
                        reached[following] = [*reached[name], following]
                        open_names.append(following)
    between = reached[other][1:-1]
    return f" by way of {', '.join(map(repr, between))}" if between else ""


def _root(parents: dict[str, str], name: str) -> str:
    while parents.get(name, name) != name:
        name = parents[name]
    return name


def _join(parents: dict[str, str], one: str, other: str) -> None:
    first, second = sorted((_root(parents, one), _root(parents, other)))
    parents[one], parents[other] = parents.get(one, one), parents.get(other, other)
    parents[second], parents[first] = first, first
