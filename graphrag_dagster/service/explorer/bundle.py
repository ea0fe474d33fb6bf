"""Our modules of the page joined into one script, so that it is loaded at once, and from a file as well."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from graphrag_dagster.errors import GraphragError

_IMPORT = re.compile(r"^import \{[^}]*\} from \"\./([\w-]+)\.js\";\n", re.MULTILINE)
_UNKNOWN_IMPORT = re.compile(r"^(?:import\b|export (?:default|\{|\*)).*", re.MULTILINE)
_EXPORTED = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.MULTILINE)
_DECLARED = re.compile(r"^(?:async )?(?:function\*?|const|let|class) (\w+)", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*/\*\*(?:(?!\*/).)*\*/\n", re.MULTILINE | re.DOTALL)


class BundleError(GraphragError):
    """A module is written in a way that cannot be joined with the others."""


def bundle(modules: Mapping[str, str], entry: str) -> str:
    """Join modules into one classic script, each after those that it imports.

    Modules may import by name from beside them (``import { a, b } from "./x.js";``) and export what they
    declare, in place. Names at the top of any two differ, since they share a scope afterwards.

    Args:
        modules: texts by name without ``.js``.
        entry: the module that is run last.

    Raises:
        BundleError: a module is missing, imports in a circle or in another form, or a name stands twice.
    """
    declared: dict[str, str] = {}
    bodies = []
    for name in dict.fromkeys(_in_order(modules, entry, ())):
        body = _EXPORTED.sub("", _IMPORT.sub("", _COMMENT.sub("", modules[name])))
        if unknown := _UNKNOWN_IMPORT.search(body):
            raise BundleError(f'{name}.js: write {unknown.group()!r} as import {{ a }} from "./b.js";')
        for found in _DECLARED.findall(body):
            if found in declared:
                raise BundleError(f"{name}.js declares {found}, as {declared[found]}.js does: rename one")
            declared[found] = name
        bodies.append(body.strip())
    return '(() => {\n"use strict";\n' + "\n".join(bodies) + "\n})();\n"


def modules_of(folder: Path) -> dict[str, str]:
    """Return the texts of the modules of a folder by name."""
    return {file.stem: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.js"))}


def _in_order(modules: Mapping[str, str], name: str, above: tuple[str, ...]) -> Iterator[str]:
    if name not in modules:
        raise BundleError(f"there is no module {name}.js, which {above[-1] if above else 'the page'} imports")
    if name in above:
        raise BundleError(f"modules import each other in a circle: {' → '.join((*above, name))}")
    for imported in _IMPORT.findall(modules[name]):
        yield from _in_order(modules, imported, (*above, name))
    yield name
