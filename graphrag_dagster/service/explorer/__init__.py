"""The page on which a person sees a corpus, and what it asks for."""

from pathlib import Path

#: The files of the page.
PAGE = Path(__file__).parent / "page"
