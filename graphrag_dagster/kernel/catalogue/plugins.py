"""Plug-ins: catalogue entries that other packages add by entry points.

An unusable plug-in is skipped with one warning, so that it never blocks access to a corpus.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

#: Entry point group of each kind of plug-in.
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
    """A catalogue entry that another package adds.

    Attributes:
        kind: a key of :data:`GROUPS`.
        name: name of the entry point and of the declaration.
        package: its distribution, with the version.
        declares: the declaration; None if it is unusable.
        problem: why it is unusable.
    """

    kind: str
    name: str
    package: str
    declares: Any = None
    problem: str | None = None

    def failed(self, doing: str, error: BaseException) -> str:
        """Return an error message for a failure of the plug-in's code."""
        message = _error_text(error)
        return f"the {self.kind} {self.name} of the package {self.package} failed {doing}: {message}"


def plugins(
    kind: str, wanted: type, taken: frozenset[str], unknown: Callable[[Any], str | None] = lambda _: None
) -> tuple[Plugin, ...]:
    """Return the plug-ins of a kind, sorted by name. Unusable ones are logged as a warning, once each.

    Args:
        kind: a key of :data:`GROUPS`.
        wanted: the class an entry point must name an instance of.
        taken: names already in use; comparison ignores case.
        unknown: returns an error message if a declaration refers to an unknown name, else None.
    """
    names, results = {*map(str.casefold, taken)}, []
    # This package's own declarations take precedence over others of the same name.
    for point in sorted(
        entry_points_by_group()[GROUPS[kind]],
        key=lambda point: (point.name, not is_ours(_package_name(point)), _package_name(point)),
    ):
        declares, problem = None, None
        if point.name.casefold() in names:
            problem = f"there is already {_article(kind)} {point.name}; choose another name"
        else:
            try:
                declares = point.load()
            # Importing another package may raise anything; that must not stop us.
            except (Exception, SystemExit) as error:
                problem = f"it cannot be loaded ({_error_text(error)})"
            else:
                problem = _declaration_problem(declares, point.name, wanted) or unknown(declares)
        if problem:
            logging.getLogger(__name__).warning(
                "the %s %r of %s is left out: %s", kind, point.name, _package_name(point), problem
            )
        else:
            names.add(point.name.casefold())
        results.append(Plugin(kind, point.name, _package_name(point), None if problem else declares, problem))
    return tuple(results)


@cache
def entry_points_by_group() -> Mapping[str, Sequence[EntryPoint]]:
    """Return all entry points of our groups, by group. The metadata is read once for all groups."""
    points = entry_points()
    return {group: tuple(points.select(group=group)) for group in GROUPS.values()}


def is_ours(package: str) -> bool:
    """Whether a distribution with its version, such as ``name 1.0``, is this package."""
    return package.startswith("graphrag-dagster ")


def _error_text(error: BaseException) -> str:
    try:
        text = " ".join(str(error).split())
    # ``__str__`` is also the other package's code.
    except Exception:
        text = ""
    kind = type(error).__name__
    return f"{kind}: {text[:_LONGEST]}" if text else kind


def _declaration_problem(declares: Any, name: str, expected: type) -> str | None:
    if not isinstance(declares, expected):
        full_name = f"{expected.__module__}.{expected.__qualname__}"
        return f"it is a {type(declares).__name__}, not a {full_name}"
    declared_name = getattr(declares, "name", name)
    return (
        None
        if declared_name == name
        else f"it declares the name {declared_name!r}; the entry point must have the same name"
    )


def _package_name(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown package"


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
