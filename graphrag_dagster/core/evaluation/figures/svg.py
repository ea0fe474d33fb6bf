"""From the SVG file that matplotlib writes to one small element for a page."""

import re
from base64 import b64decode, b64encode
from io import BytesIO
from xml.sax.saxutils import quoteattr

#: Verdana has nearly the same widths.
_FONTS = "'DejaVu Sans', Verdana, sans-serif"
_GEOMETRY = re.compile(r'\b(d|x|y|width|height|transform)="([^"]*)"')
_IMAGE = re.compile(r"(?<=data:image/png;base64,)[A-Za-z0-9+/=\s]+")
_COLOURS = 256
_LONG = re.compile(r"-?\d+\.\d{3,}")


def element(svg: str, alt: str) -> str:
    """Return the bare ``svg`` element, with a description.

    It refers to nothing outside, styles nothing outside, and has no ids but those it needs itself, so that
    several can stand in one page. Coordinates keep two decimals: a hundredth of a point.
    """
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    # A rule for * would hold for the whole page.
    body = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", body, flags=re.DOTALL)
    body = re.sub(r' font-family: [^;"]*;?', "", body)
    body = re.sub(r' transform="rotate\(-?0 [^"]*\)"', "", body)
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', body))
    body = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", body)
    body = _GEOMETRY.sub(_rounded, body)
    empty = re.compile(r"<g>\s*</g>|<g\s*/>")
    while empty.search(body):
        body = empty.sub("", body)
    body = _IMAGE.sub(lambda found: b64encode(_with_palette(b64decode(found[0]))).decode(), body)
    body = re.sub(r"\s*\n\s*", "\n", body)
    root = (
        f'<svg role="img" aria-label={quoteattr(alt)} font-family="{_FONTS}" '
        'stroke-linejoin="round" stroke-linecap="butt" '
    )
    return body.replace("<svg ", root, 1).rstrip() + "\n"


def _rounded(attribute: re.Match[str]) -> str:
    values = _LONG.sub(lambda number: f"{float(number[0]):.2f}", attribute[2])
    return f'{attribute[1]}="{" ".join(values.split())}"'


def _with_palette(png: bytes) -> bytes:
    """Return an image on white with few colours; of a drawn graph that is a quarter of its size."""
    from PIL import Image

    image = Image.open(BytesIO(png)).convert("RGBA")
    flat = Image.new("RGB", image.size, "white")
    flat.paste(image, mask=image.getchannel("A"))
    smaller = BytesIO()
    # The default method mixes the rarer hues; by this one a channel was at most 17 of 255 off.
    reduced = flat.quantize(_COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    reduced.save(smaller, "png", optimize=True)
    return smaller.getvalue()
