"""What a module of the package defines, and what each definition names; read from its source alone."""

import ast
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeGuard

#: The name of what a module does when it is imported, beside defining things.
EFFECTS = ""

#: A name of what an import statement binds: the module, and the name in it where one is given.
Bound = tuple[str, str | None]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_FILE = re.compile(r"[\w-]+(\.\w+)+")
_TYPE_CHECKING = {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
# Hints change no result; `kind` and the like are of the layout, or are not there on every Python.
_NO_CODE = {"annotation", "returns", "ctx", "kind", "type_comment", "type_params", "type_ignores"}
#: Decorators that call nothing by themselves: what they decorate is used where it is named.
_QUIET = {
    "abstractmethod",
    "cache",
    "cached_property",
    "classmethod",
    "contextmanager",
    "lru_cache",
    "overload",
    "property",
    "setter",
    "staticmethod",
}


@dataclass(frozen=True)
class Definition:
    """A function, class, constant or method.

    Attributes:
        digest: of its code.
        names: that it uses, with the attributes that directly follow: ``tables.ENTITIES.frame``.
        attributes: names of all attributes that it uses.
        targets: what its strings name.
        files: its strings that may be names of files.
        imports: names that import statements inside of it bind.
        document: digest of its docstring, where it is a class.
        bases: names of its base classes.
        members: names of its methods, with whether each counts as soon as the class does.
    """

    digest: str
    names: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    targets: frozenset[Bound] = frozenset()
    files: frozenset[str] = frozenset()
    imports: tuple[tuple[str, Bound], ...] = ()
    document: str = ""
    bases: tuple[str, ...] = ()
    members: tuple[tuple[str, bool], ...] = ()

    @property
    def is_class(self) -> bool:
        """Whether it is a class."""
        return bool(self.document)


@dataclass(frozen=True)
class Style:
    """How a module is read.

    Attributes:
        package: name of the package, by which strings are told that name something of it.
        declares: strings with blanks in calls are told to people, and decide nothing.
        options: keyword arguments of decorators are options of Dagster, and decide nothing.
    """

    package: str
    declares: bool = False
    options: bool = False


@dataclass
class Module:
    """A module: its definitions by name, each read when it is asked for."""

    name: str
    style: Style
    tree: ast.Module
    is_package: bool
    _statements: dict[str, list[ast.stmt]] = field(default_factory=lambda: defaultdict(list))
    _bound: dict[str, set[Bound]] = field(default_factory=lambda: defaultdict(set))
    _read: dict[str, Definition | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for statement in self.tree.body:
            self._note(statement)

    @property
    def names(self) -> list[str]:
        """The names of all definitions, without those of methods."""
        return [name for name in self._statements if "." not in name and name != EFFECTS]

    def bound(self, name: str) -> set[Bound]:
        """Return what the module's import statements bind a name to."""
        return self._bound.get(name, set())

    def definition(self, name: str) -> Definition | None:
        """Return the definition of a name; None where there is none."""
        if name not in self._read:
            statements = self._statements.get(name)
            self._read[name] = self._defined(statements) if statements else None
        return self._read[name]

    def _defined(self, statements: list[ast.stmt]) -> Definition:
        reader = _Reader(self)
        if len(statements) == 1 and isinstance(own := statements[0], ast.ClassDef):
            return reader.class_(own)
        for statement in statements:
            reader.read(statement)
        return reader.definition()

    def _note(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for name, bound in bound_by(statement, self):
                self._bound[name].add(bound)
        elif isinstance(statement, ast.ClassDef):
            self._statements[statement.name].append(statement)
            for member in _members(statement):
                self._statements[f"{statement.name}.{member.name}"].append(member)
        elif isinstance(statement, _FUNCTIONS):
            self._statements[statement.name].append(statement)
        elif _for_types_alone(statement):
            for other in statement.orelse:
                self._note(other)
        elif not _is_document(statement):
            self._note_other(statement)

    def _note_other(self, statement: ast.stmt) -> None:
        names = set(_stored(statement))
        for name in names or {EFFECTS}:
            self._statements[name].append(statement)
        for inner in ast.walk(statement):
            if isinstance(inner, ast.Import | ast.ImportFrom):
                for name, bound in bound_by(inner, self):
                    self._bound[name].add(bound)

    @cached_property
    def texts(self) -> dict[str, str]:
        """The module's constants that are plain strings."""
        return {
            target.id: statement.value.value
            for statement in self.tree.body
            if isinstance(statement, ast.Assign)
            and isinstance(statement.value, ast.Constant)
            and isinstance(statement.value.value, str)
            for target in statement.targets
            if isinstance(target, ast.Name)
        }


def bound_by(statement: ast.Import | ast.ImportFrom, module: Module) -> Iterator[tuple[str, Bound]]:
    """Yield each name that an import statement binds, and what to."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            whole = alias.name if alias.asname else alias.name.partition(".")[0]
            yield alias.asname or whole, (whole, None)
        return
    base = statement.module or ""
    if statement.level:
        folder = f"{module.style.package}.{module.name}".rstrip(".").split(".")
        kept = len(folder) - statement.level + (1 if module.is_package else 0)
        base = ".".join([*folder[:kept], *([base] if base else [])])
    for alias in statement.names:
        yield alias.asname or alias.name, (base, alias.name)


class _Reader:
    """Collects what some statements are, and what they name."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._style = module.style
        self._told: list[str] = []
        self._names: set[str] = set()
        self._attributes: set[str] = set()
        self._targets: set[Bound] = set()
        self._files: set[str] = set()
        self._imports: list[tuple[str, Bound]] = []
        self._local: list[set[str]] = []
        self._calls = 0
        package = re.escape(self._style.package)
        self._target = re.compile(rf"({package}(?:\.\w+)*):(\w+)|from ({package}(?:\.\w+)*) import (\w+)")

    def definition(self) -> Definition:
        """Return what was read."""
        return Definition(
            _digest("\0".join(self._told)),
            frozenset(self._names),
            frozenset(self._attributes),
            frozenset(self._targets),
            frozenset(self._files),
            tuple(self._imports),
        )

    def class_(self, statement: ast.ClassDef) -> Definition:
        """Read a class without its methods."""
        body = [one for one in _body(statement) if not isinstance(one, _FUNCTIONS)]
        self._told.append(statement.name)
        for part in (*statement.bases, *statement.keywords, *statement.decorator_list):
            self.read(part)
        for one in body:
            self._field(one)
        members: dict[str, bool] = {}
        for member in _members(statement):
            at_once = not all(_last(one) in _QUIET for one in member.decorator_list)
            members[member.name] = members.get(member.name, False) or at_once or _is_special(member.name)
        return replace(
            self.definition(),
            document=_digest(ast.get_docstring(statement) or ""),
            bases=tuple(filter(None, (_dotted(_unsubscripted(base)) for base in statement.bases))),
            members=tuple(members.items()),
        )

    def read(self, node: ast.AST) -> None:
        """Read a node and all below it."""
        if isinstance(node, ast.Import | ast.ImportFrom):
            self._imports += bound_by(node, self._module)
        elif isinstance(node, ast.Name):
            self._told.append(node.id)
            if not isinstance(node.ctx, ast.Store):
                self._name(node.id)
        elif isinstance(node, ast.Attribute):
            self._attribute(node)
        elif isinstance(node, ast.Constant):
            self._constant(node)
        elif isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, (*_FUNCTIONS, ast.Lambda)):
            self._function(node)
        else:
            self._other(node)

    def _field(self, statement: ast.stmt) -> None:
        # The hints of a class tell what its fields hold.
        if isinstance(statement, ast.AnnAssign):
            self.read(statement.annotation)
        self.read(statement)

    def _name(self, chain: str) -> None:
        if not any(chain.partition(".")[0] in local for local in self._local):
            self._names.add(chain)

    def _attribute(self, node: ast.Attribute) -> None:
        if chain := _dotted(node):
            self._told.append(chain)
            self._name(chain)
            self._attributes.update(chain.split(".")[1:])
        else:
            self._told.append(f".{node.attr}")
            self._attributes.add(node.attr)
            self.read(node.value)

    def _constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._named_by(node.value)
            if _FILE.fullmatch(node.value):
                self._files.add(node.value)
            if self._style.declares and self._calls and re.search(r"\s", node.value):
                return
        self._told.append(f"{type(node.value).__name__} {node.value!r}")

    def _call(self, node: ast.Call) -> None:
        called = _dotted(node.func)
        if called == "getattr" and len(node.args) > 1 and isinstance(name := node.args[1], ast.Constant):
            self._attributes.add(str(name.value))
        self._calls += 1
        self._other(node)
        self._calls -= 1

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        self._told.append(f"({type(node).__name__}")
        if not isinstance(node, ast.Lambda):
            self._told.append(node.name)
            for decorator in node.decorator_list:
                # Of an option of Dagster nothing is left but what it is about.
                about = decorator.args if isinstance(decorator, ast.Call) else []
                for one in about if self._style.options else [decorator]:
                    self.read(one)
        # Defaults are evaluated outside.
        self.read(node.args)
        self._local.append(_local_names(node))
        body: Sequence[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else _body(node)
        for inner in body:
            self.read(inner)
        self._local.pop()
        self._told.append(")")

    def _other(self, node: ast.AST) -> None:
        self._told.append(f"({type(node).__name__}")
        if isinstance(node, ast.JoinedStr):
            self._named_by(self._folded(node))
        if isinstance(node, ast.Global):
            self._names.update(node.names)
        for name, value in ast.iter_fields(node):
            if name in _NO_CODE or value is None or value == []:
                continue
            if name == "body" and isinstance(node, ast.ClassDef):
                value = _body(node)
            self._told.append(name)
            for one in value if isinstance(value, list) else (value,):
                if isinstance(node, ast.ClassDef) and isinstance(one, ast.stmt):
                    self._field(one)
                elif isinstance(one, ast.AST):
                    self.read(one)
                else:
                    self._told.append(repr(one))
        self._told.append(")")

    def _named_by(self, text: str) -> None:
        if self._style.package in text:
            for module, name, imported_from, imported in self._target.findall(text):
                self._targets.add((module or imported_from, name or imported))

    def _folded(self, node: ast.JoinedStr) -> str:
        """The text of an f-string as far as constants of the module make it."""
        parts = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append(str(part.value))
            elif isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name):
                parts.append(self._module.texts.get(part.value.id, " "))
            else:
                parts.append(" ")
        return "".join(parts)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _members(statement: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [one for one in statement.body if isinstance(one, _FUNCTIONS)]


def _body(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[ast.stmt]:
    return [one for place, one in enumerate(node.body) if place or not _is_document(one)]


def _is_document(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _for_types_alone(statement: ast.stmt) -> TypeGuard[ast.If]:
    return isinstance(statement, ast.If) and _dotted(statement.test) in _TYPE_CHECKING


def _stored(statement: ast.stmt) -> Iterator[str]:
    """The names of the module that a statement binds, inside of functions not looked at."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node.id
        elif isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            yield node.name
        elif not isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            waiting += ast.iter_child_nodes(node)


def _local_names(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """The names that mean something of the function's own, all through it."""
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    names = {one.arg for one in every if one}
    if not isinstance(function, ast.Lambda):
        for statement in function.body:
            names.update(_stored(statement))
        for inner in ast.walk(function):
            if isinstance(inner, ast.Global):
                names.difference_update(inner.names)
    return names


def _dotted(node: ast.AST) -> str | None:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else None


def _unsubscripted(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Subscript) else node


def _last(decorator: ast.expr) -> str:
    named = _dotted(decorator.func if isinstance(decorator, ast.Call) else decorator) or ""
    return named.rpartition(".")[2]


def _is_special(name: str) -> bool:
    return name.startswith("_") and name.endswith("_")
