"""The page of the explorer as it is served: one bundle of its modules, without data of any corpus."""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.service.explorer import PAGE

#: Below it lie the files of the page, which need no token.
FILES = "/page/"
_VENDORED = ("graphology.umd.min.js", "sigma.min.js")
#: What the page is sent with, beside the headers of every response: nothing from elsewhere, none inside.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
_FOREVER = "public, max-age=31536000, immutable"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".txt": "text/plain"}


@dataclass(frozen=True, slots=True)
class PageParts:
    """What the page is made of: markup with places to fill, style, our script, and what others made."""

    markup: str
    style: str
    script: str
    vendored: str

    @property
    def version(self) -> str:
        """Hash of all of it."""
        told = "\0".join((self.markup, self.style, self.script, self.vendored))
        return hashlib.sha256(told.encode()).hexdigest()[:16]


@cache
def page_parts() -> PageParts:
    """Return the parts as the package has them."""
    styles = sorted((PAGE / "style").glob("*.css"))
    return PageParts(
        markup=(PAGE / "index.html").read_text(encoding="utf-8"),
        style="\n".join(file.read_text(encoding="utf-8") for file in styles),
        script=bundle(modules_of(PAGE / "js"), "main"),
        vendored="\n;\n".join((PAGE / "vendor" / name).read_text(encoding="utf-8") for name in _VENDORED),
    )


def hash_source(text: str) -> str:
    """Return the source that allows just this script or style in a policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def page_response() -> Response:
    """Return the page."""
    parts = page_parts()
    markup = Template(parts.markup).substitute(
        style=f'<link rel="stylesheet" href="{FILES}{parts.version}/page.css">',
        data=f'<meta name="vendored" content="{FILES}{parts.version}/vendored.js">',
        script=f'<script src="{FILES}{parts.version}/page.js" defer></script>',
        policy="",
    )
    return HTMLResponse(markup, headers=_HEADERS)


def page_router() -> APIRouter:
    """Return the routes of the page's files."""
    router = APIRouter(prefix=FILES.rstrip("/"), include_in_schema=False)

    @router.get("/{version}/{name}")
    async def file(version: str, name: str) -> Response:
        """Send a file of the page; another version's address gets today's, which is not kept then."""
        parts = page_parts()
        texts = {"page.css": parts.style, "page.js": parts.script, "vendored.js": parts.vendored}
        if name not in texts:
            return Response(status_code=404)
        kept = _FOREVER if version == parts.version else "no-cache"
        headers = {"Cache-Control": kept}
        return Response(texts[name], media_type=_TYPES[Path(name).suffix], headers=headers)

    return router


_IMPORT = re.compile(r"^import \{[^}]*\} from \"\.\.?/(?:[\w-]+/)*([\w-]+)\.js\";\n", re.MULTILINE)
_UNKNOWN_IMPORT = re.compile(r"^(?:import\b|export (?:default|\{|\*)).*", re.MULTILINE)
_EXPORTED = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.MULTILINE)
_DECLARED = re.compile(r"^(?:async )?(?:function\*?|const|let|class) (\w+)", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*/\*\*(?:(?!\*/).)*\*/\n", re.MULTILINE | re.DOTALL)


class BundleError(GraphragError):
    """A module is written in a way that cannot be joined with the others."""


def bundle(modules: Mapping[str, str], entry: str) -> str:
    """Join modules into one classic script, each after those that it imports.

    Modules may import by name (``import { a, b } from "../base/x.js";``) and export what they declare, in
    place. Names at the top of any two differ, since they share a scope afterwards.

    Args:
        modules: texts by name without ``.js``.
        entry: the module that is run last.

    Raises:
        BundleError: a module is missing, imports in a circle or in another form, or a name stands twice.
    """
    declared: dict[str, str] = {}
    bodies = []
    for name in dict.fromkeys(_modules_in_order(modules, entry, ())):
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
    """Return the texts of the modules of a folder and those below it by name, which none shares."""
    files: dict[str, Path] = {}
    for file in sorted(folder.rglob("*.js")):
        if file.stem in files:
            raise BundleError(f"{file} has the name of {files[file.stem]}: rename one")
        files[file.stem] = file
    return {name: file.read_text(encoding="utf-8") for name, file in files.items()}


def _modules_in_order(modules: Mapping[str, str], name: str, above: tuple[str, ...]) -> Iterator[str]:
    if name not in modules:
        raise BundleError(f"there is no module {name}.js, which {above[-1] if above else 'the page'} imports")
    if name in above:
        raise BundleError(f"modules import each other in a circle: {' → '.join((*above, name))}")
    for imported in _IMPORT.findall(modules[name]):
        yield from _modules_in_order(modules, imported, (*above, name))
    yield name
