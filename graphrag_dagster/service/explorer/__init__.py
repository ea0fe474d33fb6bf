"""The explorer: one page to see the map of a corpus, ask it, and read what answers rest on."""

from pathlib import Path

#: The files of the page.
PAGE = Path(__file__).parent / "page"
