"""One look for all figures, and their rendering to the same bytes every time."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from graphrag_dagster.core.evaluation.figures.svg import element

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


def drawn(
    draw: Callable[["Drawing"], None], *, height: float, name: str, title: str, caption: str, alt: str
) -> Figure:
    """Render what ``draw`` puts on an empty figure, 700 pixels wide and ``height`` inches high."""
    with _look(name):
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


def short(value: float) -> str:
    """Return a number as an axis has it: 0.002, 50, 8k, 1.5M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{unit}"
    return f"{value:.4g}" if abs(value) >= 1e-4 or not value else f"{value:.0e}"


def sentences(*parts: str) -> str:
    """Join the sentences that are not empty."""
    return " ".join(part for part in parts if part)


@contextmanager
def _look(salt: str) -> Iterator[None]:
    """Draw by our settings, whatever the user's are; they are as before afterwards."""
    import matplotlib

    with _SETTINGS, matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**_LOOK, "svg.hashsalt": salt})
        yield
