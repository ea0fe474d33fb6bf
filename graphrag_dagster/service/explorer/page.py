"""The page and its files, which hold nothing of any corpus."""

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from graphrag_dagster.service.explorer import PAGE
from graphrag_dagster.service.explorer.bundle import bundle, modules_of

#: Below it lie the files of the page, which need no token.
FILES = "/page/"
_VENDORED = ("graphology.umd.min.js", "sigma.min.js")
_POLICY = (
    "default-src 'none'; script-src {scripts}; style-src {styles}; connect-src {calls}; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
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


def policy(*, scripts: str = "'self'", styles: str = "'self'", calls: str = "'self'") -> str:
    """Return the Content-Security-Policy of the page: nothing from elsewhere, no script or style inside."""
    return _POLICY.format(scripts=scripts, styles=styles, calls=calls)


def hash_source(text: str) -> str:
    """Return the source that allows just this script or style in a policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def page_headers(content_policy: str) -> dict[str, str]:
    """Return the headers that the page is sent with, beside those of every response."""
    return {
        "Content-Security-Policy": content_policy,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cache-Control": "no-cache",
    }


def page_response() -> Response:
    """Return the page."""
    parts = page_parts()
    markup = Template(parts.markup).substitute(
        style=f'<link rel="stylesheet" href="{FILES}{parts.version}/page.css">',
        data=f'<meta name="vendored" content="{FILES}{parts.version}/vendored.js">',
        script=f'<script src="{FILES}{parts.version}/page.js" defer></script>',
        policy="",
    )
    return HTMLResponse(markup, headers=page_headers(policy()))


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
