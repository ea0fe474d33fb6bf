"""What a function of the package reaches, and the hash of that."""

import ast
import builtins
import hashlib
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from graphrag_dagster.orchestration.code_versions.definitions import EFFECTS, Bound, Definition, Module, Style
from graphrag_dagster.orchestration.code_versions.rooms import DECLARATIONS, LOADER, Id, Part, Rooms

#: Base classes that call nothing of what is derived from them.
_QUIET_BASES = {"abc", "enum", "typing"}
_COUNTED = {Part.DECIDES, Part.DECLARES}


@dataclass(frozen=True)
class Reached:
    """What some functions reach.

    Attributes:
        found: definitions by id.
        tokens: id → digest of the definition, with what its names mean; of what decides results alone.
        attributes: names of all attributes that are used.
    """

    found: Mapping[Id, Definition]
    tokens: Mapping[Id, str]
    attributes: frozenset[str]


class Sources:
    """The sources of a package, each parsed when something in it is reached."""

    def __init__(self, root: Path, rooms: Rooms | None = None) -> None:
        self.root = root
        self.package = root.name
        self._rooms = rooms or Rooms()
        self._modules: dict[str, Module | None] = {}
        self._resolved: dict[tuple[Id, str], tuple[Id | str, ...]] = {}
        self._is_foreign: dict[Id, bool] = {}

    def module(self, name: str) -> Module | None:
        """Return a module by its name without that of the package; None where there is none."""
        if name not in self._modules:
            self._modules[name] = self._parsed(name)
        return self._modules[name]

    def read(self, file: str, source: bytes) -> Module:
        """Read the source of a file of the package, named with forward slashes."""
        parts = file.removesuffix(".py").split("/")
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        style = Style(
            self.package,
            declares=self._rooms.part((name, EFFECTS)) is Part.DECLARES,
            options=parts[0] == "assets",
        )
        return Module(name, style, ast.parse(source), is_package)

    def reached(self, roots: Iterable[Id], also: Iterable[str] = ()) -> Reached:
        """Follow all names from some definitions on.

        Args:
            roots: where to begin.
            also: places that decide the results, too.

        Raises:
            LookupError: a root is not defined.
        """
        walk = _Walk(self, self._rooms.with_also(also))
        for root in roots:
            if self.definition(root) is None:
                raise LookupError(f"{self.root} defines no {root[1]} in {root[0]}")
            walk.visit(root)
        return walk.end()

    def definition(self, of: Id) -> Definition | None:
        """Return the definition of an id; None where there is none."""
        module = self.module(of[0])
        return module.definition(of[1]) if module else None

    def meant(self, of: Id, chain: str) -> tuple[Id | str, ...]:
        """Return what a name, with attributes, means in a definition: ids, or names of other packages."""
        key = (of, chain)
        if key not in self._resolved:
            self._resolved[key] = tuple(self._meant(of, chain.split(".")))
        return self._resolved[key]

    def at(self, bound: Bound) -> list[Id | str]:
        """Return what an import or a string names."""
        return self._of_bound(bound, [])

    def file_beside(self, module: str, name: str) -> str:
        """Return the digest of a file that lies beside a module and is none; an empty string for none."""
        file = self.root.joinpath(*module.split(".")).with_name(name)
        is_text = file.suffix != ".py" and file.is_file()
        return hashlib.sha256(file.read_bytes()).hexdigest() if is_text else ""

    def is_foreign(self, of: Id) -> bool:
        """Whether a class is derived from one of another package that may call its methods."""
        if of not in self._is_foreign:
            self._is_foreign[of] = False
            self._is_foreign[of] = self._derived(of)
        return self._is_foreign[of]

    def _derived(self, of: Id) -> bool:
        own = self.definition(of)
        for base in own.bases if own else ():
            meant = self.meant(of, base)
            if not meant and base not in vars(builtins):
                return True
            for one in meant:
                if isinstance(one, str) and one.partition(".")[0] not in _QUIET_BASES:
                    return True
                if not isinstance(one, str) and self.is_foreign(one):
                    return True
        return False

    def _meant(self, of: Id, names: list[str]) -> list[Id | str]:
        module = self.module(of[0])
        definition = self.definition(of)
        if module is None or definition is None:
            return []
        local = [bound for name, bound in definition.imports if name == names[0]]
        found: list[Id | str] = []
        for bound in local or module.bound(names[0]):
            found += self._of_bound(bound, names[1:])
        if not local and module.definition(names[0]):
            found.append((of[0], names[0]))
        return found

    def _of_bound(self, bound: Bound, rest: list[str]) -> list[Id | str]:
        whole, name = bound
        names = [name, *rest] if name else rest
        if whole != self.package and not whole.startswith(f"{self.package}."):
            return [".".join([whole, *names])]
        return self._inside(whole[len(self.package) + 1 :], names)

    def _inside(self, place: str, names: list[str]) -> list[Id | str]:
        """What names mean from a module on, from module to module."""
        module = self.module(place)
        if module is None:
            return []
        if not names:
            return [(place, name) for name in module.names]
        if module.definition(names[0]):
            return [(place, names[0])]
        if bounds := module.bound(names[0]):
            return [one for bound in bounds for one in self._of_bound(bound, names[1:])]
        deeper = f"{place}.{names[0]}" if place else names[0]
        if self.module(deeper):
            return self._inside(deeper, names[1:])
        # A name that is made when it is asked for: whatever the module has may make it.
        return [(place, name) for name in module.names]

    def _parsed(self, name: str) -> Module | None:
        place = name.replace(".", "/")
        for file in (f"{place}.py", f"{place}/__init__.py".lstrip("/")):
            if (self.root / file).is_file():
                return self.read(file, (self.root / file).read_bytes())
        return None


@dataclass
class _Walk:
    """What is reached so far."""

    sources: Sources
    rooms: Rooms
    _found: dict[Id, Definition] = field(default_factory=dict)
    _seen: set[Id] = field(default_factory=set)
    _classes: set[Id] = field(default_factory=set)
    _attributes: set[str] = field(default_factory=set)
    _unused: defaultdict[str, list[Id]] = field(default_factory=lambda: defaultdict(list))
    _waiting: deque[Id] = field(default_factory=deque)

    _named: list[Bound] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._hand_out("")

    def visit(self, root: Id) -> None:
        """Follow what a definition names, and all that lies behind it."""
        self._reach(root)
        while self._waiting:
            self._follow(self._waiting.popleft())

    def end(self) -> Reached:
        """Return what was reached."""
        tokens = {
            one: self._token(one, definition)
            for one, definition in self._found.items()
            if self.rooms.part(one) in {*_COUNTED, Part.VALUES}
        }
        return Reached(self._found, tokens, frozenset(self._attributes))

    def _hand_out(self, attribute: str) -> None:
        """Reckon with objects of the classes that an attribute hands out."""
        given = self.rooms.given.items()
        places = {place.partition(":")[0] for place, by in given if by == attribute}
        names = [name for place in sorted(places) for name in _modules_below(self.sources.root, place)]
        for module in filter(None, map(self.sources.module, names)):
            for name in module.names:
                own = module.definition(name)
                for member, at_once in own.members if own else ():
                    if not at_once:
                        self._use_or_keep((module.name, f"{name}.{member}"), member)

    def _use_or_keep(self, one: Id, member: str) -> None:
        if member in self._attributes:
            self._reach(one)
        else:
            self._unused[member].append(one)

    def _reach(self, one: Id) -> None:
        if one in self._seen:
            return
        self._seen.add(one)
        definition = self.sources.definition(one)
        if definition is None:
            return
        if definition.is_class:
            self._reach_class(one, definition)
        elif "." in one[1]:
            self._reach((one[0], one[1].rpartition(".")[0]))
        if self.rooms.part(one) is not Part.NONE and not self._is_of_values(one, definition):
            self._found[one] = definition
            self._waiting.append(one)
            self._reach((one[0], EFFECTS))

    def _reach_class(self, one: Id, definition: Definition) -> None:
        whole = self.rooms.part(one) is Part.DECIDES and self.sources.is_foreign(one)
        for member, at_once in definition.members:
            place = (one[0], f"{one[1]}.{member}")
            if whole or (at_once and self.rooms.part(one) is not Part.VALUES):
                self._reach(place)
            else:
                self._use_or_keep(place, member)

    def _is_of_values(self, one: Id, definition: Definition) -> bool:
        """Whether it declares values of people: then their classes are reached, and nothing else."""
        return definition.is_class and self.rooms.part(one) is Part.VALUES

    def _follow(self, one: Id) -> None:
        definition = self._found[one]
        for chain in definition.names:
            self._reach_all(self.sources.meant(one, chain))
        if _is_declaration(one) and LOADER not in self._seen:
            self._named += definition.targets
        else:
            self._load(definition.targets)
        if one == LOADER:
            self._load(self._named)
        if self.rooms.part(one) is not Part.LEADS:
            for attribute in definition.attributes - self._attributes:
                self._attributes.add(attribute)
                for member in self._unused.pop(attribute, ()):
                    self._reach(member)
                self._hand_out(attribute)

    def _load(self, named: Iterable[Bound]) -> None:
        for bound in named:
            self._reach_all(self.sources.at(bound))

    def _reach_all(self, meant: Iterable[Id | str]) -> None:
        for one in meant:
            if not isinstance(one, str):
                self._reach(one)

    def _token(self, one: Id, definition: Definition) -> str:
        names = sorted(
            f"{chain}={meant}"
            for chain in definition.names
            for meant in self.sources.meant(one, chain)
            if isinstance(meant, str) or self.rooms.part(meant) in _COUNTED
        )
        document = definition.document if definition.is_class and self.sources.is_foreign(one) else ""
        files = [self.sources.file_beside(one[0], name) for name in sorted(definition.files)]
        told = "\0".join([definition.digest, document, *names, *files])
        return hashlib.sha256(told.encode()).hexdigest()


def _is_declaration(one: Id) -> bool:
    return one[0].partition(".")[0] == DECLARATIONS


def _modules_below(root: Path, place: str) -> list[str]:
    folder = root.joinpath(*place.split("."))
    if not folder.is_dir():
        return [place]
    files = sorted(folder.rglob("*.py"))
    names = [".".join(file.relative_to(root).with_suffix("").parts) for file in files]
    return [name.removesuffix(".__init__") for name in names]
