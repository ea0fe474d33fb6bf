"""Plug-ins: systems that packages declare by entry points, ours among them.

One that cannot be used is left out with one warning, so that it never blocks access to a corpus.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from traceback import walk_tb

from graphrag_dagster.kernel.catalogue.system import System

_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Plugin:
    """A system that a package declares.

    Attributes:
        name: name of the entry point and of the declaration.
        package: its distribution, with the version.
        module: the top-level module of its code.
        declares: the declaration; None if it is unusable.
        problem: why it is unusable.
    """

    name: str
    package: str
    module: str
    declares: System | None = None
    problem: str | None = None

    @property
    def is_ours(self) -> bool:
        """Whether this package declares it."""
        return self.package.startswith("graphrag-dagster ")

    def failed(self, doing: str, error: BaseException) -> str:
        """Return an error message for a failure of its code."""
        return f"the plug-in {self.name} of the package {self.package} failed {doing}: {_error_text(error)}"

    def raised(self, error: BaseException) -> bool:
        """Whether an error passed through its code."""
        modules = (frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__))
        return any(name.partition(".")[0] == self.module for name in modules)


@cache
def system_entry_points() -> Sequence[EntryPoint]:
    """Return the entry points of all systems; none is loaded."""
    return tuple(entry_points(group="graphrag_dagster.systems"))


def load_plugins(problem_of: Callable[[System, Sequence[System]], str | None]) -> tuple[Plugin, ...]:
    """Return the systems of this package, then those of others, sorted by name.

    Unusable ones are logged as a warning, once each.

    Args:
        problem_of: returns why a system of another package cannot be used beside those before it.
    """
    found = [(_unloaded(point), point) for point in system_entry_points()]
    results, usable = list[Plugin](), list[System]()
    for plugin, point in sorted(found, key=lambda one: (not one[0].is_ours, one[0].name, one[0].package)):
        system, problem = _load(point)
        if system and not plugin.is_ours:
            problem = problem_of(system, usable)
        if problem:
            logging.getLogger(__name__).warning(
                "the plug-in %r of %s is left out: %s", plugin.name, plugin.package, problem
            )
            results.append(replace(plugin, problem=problem))
        elif system:
            usable.append(system)
            results.append(replace(plugin, declares=system))
    return tuple(results)


def _unloaded(point: EntryPoint) -> Plugin:
    package = f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown package"
    return Plugin(point.name, package, point.module.partition(".")[0])


def _load(point: EntryPoint) -> tuple[System | None, str | None]:
    """Return the declared system, or why there is none."""
    try:
        system = point.load()
    # Importing another package may raise anything; that must not stop us.
    except (Exception, SystemExit) as error:
        return None, f"it cannot be loaded ({_error_text(error)})"
    if not isinstance(system, System):
        return None, f"it is a {type(system).__name__}, not a {System.__module__}.{System.__qualname__}"
    if system.name != point.name:
        return None, f"it declares the name {system.name!r}; the entry point must have the same name"
    return system, None


def _error_text(error: BaseException) -> str:
    try:
        text = " ".join(str(error).split())
    # ``__str__`` is also the other package's code.
    except Exception:
        text = ""
    kind = type(error).__name__
    return f"{kind}: {text[:_LONGEST]}" if text else kind
