"""Where real data sets lie that are no part of the project; tests of them are skipped where they are absent."""

from pathlib import Path

SHARED = Path(__file__).resolve().parents[3] / "shared"
DATA = SHARED / "data"
