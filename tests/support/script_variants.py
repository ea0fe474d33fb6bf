"""Scripts that differ from the plain one in what they leave for gleaning or in how much they write."""

from typing import Any

from support.scripted_replies import Scripted, Style, reply_in_style

_GLEANING = Style(gleans=True)
_WORDY = Style(shown=110, words=2)


def gleaning_script(body: dict[str, Any]) -> Scripted | str:
    """Name at first what the first half of a text names, admit that something is missing, and continue."""
    return reply_in_style(body, _GLEANING)


def wordy_script(body: dict[str, Any]) -> Scripted | str:
    """Extract about as much as models do.

    For 222 text units (600/100, cl100k_base, 544 tokens on average) of 1,000 encyclopedia passages a reply has
    1,731 tokens by the server's rough count and 1,948 by the encoding; the plain script writes 4,935 and 5,485.
    """
    return reply_in_style(body, _WORDY)
