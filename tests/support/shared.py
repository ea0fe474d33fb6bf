"""Where the project lies, and real data sets that are no part of it: tests of these are skipped without them."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY.parent / "shared" / "data"
