"""How the command line prints."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.errors import MarkupError
from rich.markup import escape
from rich.segment import Segment
from rich.text import Text

from graphrag_dagster.errors import DOCUMENTATION
from graphrag_dagster.kernel.common.printable import json_text, printable

if TYPE_CHECKING:
    from rich.markdown import Markdown


class SafeConsole(Console):
    """Prints what comes from documents, models and file names without obeying it.

    Whatever is printed passes here: control characters are spelt out (:func:`printable`), nothing becomes a
    link, names such as ``:warning:`` stay as they are, and markup that does not add up is shown as text.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, emoji=False)

    def say(self, text: str, **options: Any) -> None:
        """Print a text whose lines are left as long as they are."""
        self.print(text, soft_wrap=True, **options)

    def warn(self, *texts: str) -> None:
        """Print plain texts in yellow, each as a line."""
        for text in texts:
            self.say(f"[yellow]{escape(text)}[/]")

    def render_str(self, text: str, **options: Any) -> Text:
        """Read a string's markup."""
        try:
            return super().render_str(printable(text), **options)
        except MarkupError:
            return super().render_str(printable(text), **{**options, "markup": False})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render anything into segments."""
        for text, style, control in super().render(renderable, options):
            if control:
                yield Segment(text, style, control)
            else:
                yield Segment(printable(text), style.update_link() if style and style.link else style)


OUT = SafeConsole()
ERR = SafeConsole(stderr=True)


def markdown(text: str) -> "Markdown":
    """Return a text of Markdown as it is printed: the address of a link stands beside its words."""
    from rich.markdown import Markdown

    return Markdown(printable(text), hyperlinks=False)


def print_json(value: Any) -> None:
    """Print a JSON document to standard output, unwrapped and uncoloured."""
    OUT.say(json_text(value), markup=False)


def print_error(text: str, page: str | None = None) -> None:
    """Print why a command ended to standard error, as one line where the text is one, uncoloured.

    Args:
        text: why.
        page: the page of the documentation that has more, whose address is printed below on a terminal.
    """
    sys.stderr.write(f"error: {printable(text)}\n")
    if page and sys.stderr.isatty():
        sys.stderr.write(f"more: {DOCUMENTATION}{page}\n")
