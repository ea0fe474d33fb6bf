"""The common style of all figures, and their reproducible rendering."""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

#: Inches: 700 pixels of a page, at 96 to the inch.
WIDTH = 700 / 96
#: Twice the pixels of a page.
PRINT_DPI = 192
INK, QUIET, LINE, EMPTY = "#222222", "#666666", "#dddddd", "#e9e9e9"
#: Blue, vermilion, green, purple, yellow, sky and grey of Okabe and Ito, told apart by all kinds of sight.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")
PLAIN, ACCENT = "#9a9a9a", "#0072b2"
SMALL = 8.0

_LOOK: Mapping[Any, Any] = MappingProxyType(
    {
        "font.family": ["DejaVu Sans"],
        "font.size": 9.0,
        "text.color": INK,
        # Names of conditions and entities may hold dollar signs.
        "text.parse_math": False,
        "axes.edgecolor": "#888888",
        "axes.labelcolor": INK,
        "axes.labelsize": 9.0,
        "axes.titlesize": 10.0,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.unicode_minus": True,
        "grid.color": LINE,
        "grid.linewidth": 0.8,
        "xtick.color": "#888888",
        "ytick.color": "#888888",
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "xtick.labelsize": 8.5,
        "ytick.labelsize": 8.5,
        "figure.facecolor": "white",
        "figure.constrained_layout.use": True,
        "figure.constrained_layout.hspace": 0.05,
        "lines.linewidth": 1.8,
        "lines.markersize": 5.0,
        # Text stays text: a third of the size of outlines, and it can be searched and read aloud.
        "svg.fonttype": "none",
    }
)
_NO_METADATA: Mapping[str, None] = MappingProxyType(dict.fromkeys(("Creator", "Date", "Format", "Type")))
#: Matplotlib reads its settings from one place in the process; this keeps our threads apart.
_SETTINGS = Lock()


@dataclass(frozen=True, slots=True)
class Figure:
    """A rendered figure.

    ``name`` is fit for a file, ``title`` and ``caption`` stand beside the figure, not in it; ``png`` is
    1,400 pixels wide; ``svg`` is 700 wide, one element that refers to nothing outside and can stand in a
    page; ``alt`` says what there is to see.
    """

    name: str
    title: str
    caption: str
    png: bytes
    svg: str
    alt: str


def render_figure(
    draw: Callable[["Drawing"], None], *, height: float, name: str, title: str, caption: str, alt: str
) -> Figure:
    """Render what ``draw`` puts on an empty figure, 700 pixels wide and ``height`` inches high."""
    with _project_style(name):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Drawing

        drawing = Drawing(figsize=(WIDTH, height))
        FigureCanvasAgg(drawing)
        draw(drawing)
        png, svg = BytesIO(), BytesIO()
        drawing.savefig(png, format="png", dpi=PRINT_DPI, metadata={"Software": None})
        drawing.savefig(svg, format="svg", dpi=PRINT_DPI, metadata=dict(_NO_METADATA))
    return Figure(
        name=name,
        title=title,
        caption=caption,
        png=png.getvalue(),
        svg=element(svg.getvalue().decode(), alt),
        alt=alt,
    )


def panels(drawing: "Drawing", count: int, columns: int) -> list["Axes"]:
    """Return ``count`` panels in rows of ``columns``, those of the last row from the left."""
    rows = -(-count // columns)
    grid = drawing.subplots(rows, columns, squeeze=False)
    axes: list[Axes] = list(grid.flat)
    for unused in axes[count:]:
        unused.set_axis_off()
    return axes[:count]


def words(name: str) -> str:
    """Return the name of a measure as a label: ``claims_per_answer`` is ``Claims per answer``."""
    spaced = name.replace("_", " ").strip()
    return spaced[:1].upper() + spaced[1:]


def format_axis_number(value: float) -> str:
    """Return a number as an axis has it: 0.002, 50, 8k, 1.5M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{unit}"
    return f"{value:.4g}" if abs(value) >= 1e-4 or not value else f"{value:.0e}"


def sentences(*parts: str) -> str:
    """Join the sentences that are not empty."""
    return " ".join(part for part in parts if part)


@contextmanager
def _project_style(salt: str) -> Iterator[None]:
    """Draw by our settings, whatever the user's are; they are as before afterwards."""
    import matplotlib

    with _SETTINGS, matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**_LOOK, "svg.hashsalt": salt})
        yield


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
    body = _GEOMETRY.sub(_round_numbers, body)
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


def _round_numbers(attribute: re.Match[str]) -> str:
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
