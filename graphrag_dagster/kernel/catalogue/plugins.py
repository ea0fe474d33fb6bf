"""Plug-ins: additions of other packages to the catalogue, by entry points.

A plug-in that cannot be used is skipped with one warning, so that it never blocks access to a corpus.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

#: Entry point groups by what they add.
GROUPS = {
    "system": "graphrag_dagster.systems",
    "engine": "graphrag_dagster.engines",
    "method": "graphrag_dagster.methods",
    "reader": "graphrag_dagster.readers",
    "embedder": "graphrag_dagster.embedders",
    "reranker": "graphrag_dagster.rerankers",
}
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Plugin:
    """Something that another package adds.

    Attributes:
        kind: a key of :data:`GROUPS`.
        name: of the entry point, which is the name of what it declares.
        package: distribution that it comes with, and its version.
        declares: the object; None where it cannot be used.
        problem: why it cannot be used.
    """

    kind: str
    name: str
    package: str
    declares: Any = None
    problem: str | None = None

    def failed(self, doing: str, error: BaseException) -> str:
        """Say that its code failed, whose it is, and what it did."""
        told = _told(error)
        return f"the {self.kind} {self.name} of the package {self.package} failed {doing}: {told}"


def plugins(
    kind: str, wanted: type, taken: frozenset[str], unknown: Callable[[Any], str | None] = lambda _: None
) -> tuple[Plugin, ...]:
    """Return what other packages add of a kind, in the order of names; warn once of each that is unusable.

    Args:
        kind: a key of :data:`GROUPS`.
        wanted: what an entry point has to name an instance of.
        taken: names that there are already; capitals make no other name.
        unknown: says of a declaration which name in it is none of those there are; None where all are known.
    """
    names, found = {*map(str.casefold, taken)}, []
    # What this package declares itself is the first of its name, whatever others are called.
    for point in sorted(
        all_points()[GROUPS[kind]], key=lambda one: (one.name, not is_ours(_package(one)), _package(one))
    ):
        declares, problem = None, None
        if point.name.casefold() in names:
            problem = f"there is already {_article(kind)} {point.name}; choose another name"
        else:
            try:
                declares = point.load()
            # Whatever the code of another package raises when it is loaded, ours goes on.
            except (Exception, SystemExit) as error:
                problem = f"it cannot be loaded ({_told(error)})"
            else:
                problem = _misdeclared(declares, point.name, wanted) or unknown(declares)
        if problem:
            logging.getLogger(__name__).warning(
                "the %s %r of %s is left out: %s", kind, point.name, _package(point), problem
            )
        else:
            names.add(point.name.casefold())
        found.append(Plugin(kind, point.name, _package(point), None if problem else declares, problem))
    return tuple(found)


@cache
def all_points() -> Mapping[str, Sequence[EntryPoint]]:
    """Return the entry points of all packages by group of ours; files are read once for all groups."""
    points = entry_points()
    return {group: tuple(points.select(group=group)) for group in GROUPS.values()}


def is_ours(package: str) -> bool:
    """Whether a distribution, with its version, is this package."""
    return package.startswith("graphrag-dagster ")


def _told(error: BaseException) -> str:
    try:
        text = " ".join(str(error).split())
    # Its text is made by the code of another package, too.
    except Exception:
        text = ""
    kind = type(error).__name__
    return f"{kind}: {text[:_LONGEST]}" if text else kind


def _misdeclared(declares: Any, name: str, wanted: type) -> str | None:
    if not isinstance(declares, wanted):
        named = f"{wanted.__module__}.{wanted.__qualname__}"
        return f"it is a {type(declares).__name__}, not a {named}"
    own = getattr(declares, "name", name)
    return None if own == name else f"it declares the name {own!r}; the entry point must have the same name"


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown package"


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
