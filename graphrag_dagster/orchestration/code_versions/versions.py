"""The code versions of this package, as they are told to Dagster and to manifests."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from graphrag_dagster.catalogue.registry import stages
from graphrag_dagster.catalogue.tasks import SHARED_PROMPTS, TASKS
from graphrag_dagster.core.files.own_folders import own_folders
from graphrag_dagster.orchestration.code_versions.closure import Sources
from graphrag_dagster.orchestration.code_versions.remembered import Remembered
from graphrag_dagster.orchestration.code_versions.rooms import Id

#: Versions that were published earlier with the same results; written by ``make keep-versions``.
KEPT = Path(__file__).with_name("kept.json")
_ROOT = Path(__file__).parents[2]
_BY_ROOTS = "versions"
#: The version of an asset's code, and its group.
AssetCode = tuple[str, str]


def prompts_by_task() -> dict[str, tuple[str, ...]]:
    """Return the names of the prompts of each language task, the shared ones included."""
    return {task.name: (*task.prompts, *SHARED_PROMPTS) for task in TASKS}


class CodeVersions:
    """The code versions of a package.

    What was found is remembered in a file: parsing all that the assets reach takes a second or two.
    """

    def __init__(
        self, sources: Sources, prompts: Mapping[str, Iterable[str]], remembered_in: Iterable[Path] = ()
    ) -> None:
        """Nothing is read before a version is asked for.

        Args:
            sources: of the package.
            prompts: names of the prompts by task.
            remembered_in: folders, of which the first one is used that can be written to.
        """
        self._sources = sources
        self._prompts = prompts
        self._remembered = Remembered(sources.root, remembered_in)

    def version(self, roots: Iterable[str], also: Iterable[str] = ()) -> str:
        """Return the version of some definitions, ``package.module:name``.

        Args:
            roots: where to begin.
            also: places of the package that decide the results beside the usual ones.

        Raises:
            LookupError: there is no such definition.
        """
        roots, also = sorted(roots), sorted(also)
        key = " ".join([*roots, *also])
        if (known := self._remembered.group(_BY_ROOTS).get(key)) is None:
            known = self._read(roots, also)
            self._remembered.keep(_BY_ROOTS, {key: known})
        return known

    def of_assets(self, make: Callable[[], Mapping[str, AssetCode]]) -> Mapping[str, AssetCode]:
        """Return the version and the group of all assets by key, with the libraries that there are.

        Args:
            make: finds them; called where they are not remembered.
        """
        held = {one: _installed(one) for stage in stages().values() for one in stage.libraries}
        group = f"assets {_digest(map(' '.join, sorted(held.items())))}"
        if not (known := self._remembered.group(group)):
            known = make()
            self._remembered.keep(group, known)
        return {key: (code, of) for key, (code, of) in known.items()}

    def _read(self, roots: Iterable[str], also: Iterable[str]) -> str:
        reached = self._sources.reached(map(self._id_of, roots), also)
        told = [f"{module}:{name} {token}" for (module, name), token in sorted(reached.tokens.items())]
        asked = {name for task in reached.attributes & self._prompts.keys() for name in self._prompts[task]}
        for name in sorted(asked):
            file = self._sources.root / "prompts" / f"{name}.txt"
            told.append(f"{name} {hashlib.sha256(file.read_bytes().strip()).hexdigest()}")
        return _digest(told)

    def _id_of(self, root: str) -> Id:
        module, _, name = root.removeprefix(f"{self._sources.package}.").partition(":")
        return module, name


@dataclass(frozen=True)
class Kept:
    """Versions that were published earlier and hold as long as the code is what gave the same results.

    Attributes:
        libraries: their versions when that was found.
        versions: name → the version that the code would have, and the one that was published earlier.
    """

    libraries: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def text(self) -> str:
        """Return them as the file has them."""
        told = {
            "libraries": dict(sorted(self.libraries.items())),
            "versions": {name: list(pair) for name, pair in sorted(self.versions.items())},
        }
        return json.dumps(told, indent=1) + "\n"

    @classmethod
    def at(cls, file: Path) -> "Kept":
        """Read them; there are none where there is no file."""
        if not file.is_file():
            return cls()
        told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return cls(told["libraries"], {name: (now, then) for name, (now, then) in told["versions"].items()})

    def version(self, name: str, code: str, libraries: Mapping[str, str]) -> str:
        """Return the version of something by its name, that of its code, and those of its libraries."""
        now, then = self.versions.get(name, ("", ""))
        if now == code and all(self.libraries.get(one) == held for one, held in libraries.items()):
            return then
        return _digest([code, *map(" ".join, sorted(libraries.items()))]) if libraries else code


@dataclass(frozen=True, slots=True)
class Subject:
    """What has a code version; the arguments of :func:`code_version`."""

    name: str
    roots: tuple[str, ...]
    stage: str = ""
    also: tuple[str, ...] = ()

    @property
    def code(self) -> str:
        """The version of its code alone."""
        return _versions().version(self.roots, self.also)

    @property
    def libraries(self) -> dict[str, str]:
        """The versions of the libraries that decide its result."""
        return {one: _installed(one) for one in (stages()[self.stage].libraries if self.stage else ())}


_SUBJECTS: dict[str, Subject] = {}


def subjects() -> Mapping[str, Subject]:
    """Return by name everything whose code version was asked for in this process."""
    return _SUBJECTS


def code_version(name: str, *roots: str, stage: str = "", also: Iterable[str] = ()) -> str:
    """Return the version of what some definitions reach.

    Args:
        name: under which earlier versions are kept; of an asset, its key with slashes.
        roots: the definitions, ``package.module:name``.
        stage: whose libraries decide the result, too.
        also: places of the package that decide it beside the usual ones.
    """
    subject = _SUBJECTS[name] = Subject(name, roots, stage, tuple(also))
    return _kept().version(name, subject.code, subject.libraries)


def code_of_assets(make: Callable[[], Mapping[str, AssetCode]]) -> Mapping[str, AssetCode]:
    """As :meth:`CodeVersions.of_assets`, of this package."""
    return _versions().of_assets(make)


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


@cache
def _versions() -> CodeVersions:
    return CodeVersions(Sources(_ROOT), prompts_by_task(), own_folders("code_versions"))


@cache
def _kept() -> Kept:
    return Kept.at(KEPT)


@cache
def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
