"""Where things are on this machine. Environment variables are read when asked, never at import."""

import os
from pathlib import Path

HOME = "GRAPHRAG_DAGSTER_HOME"
CORPORA = "GRAPHRAG_DAGSTER_CORPORA"
WAREHOUSE = "GRAPHRAG_DAGSTER_WAREHOUSE"
CACHE = "GRAPHRAG_DAGSTER_CACHE"


def home() -> Path:
    """The working folder: ``$GRAPHRAG_DAGSTER_HOME``, else the current folder."""
    return Path(os.environ.get(HOME) or ".").resolve()


def corpora_root() -> str:
    """The folder of corpora: ``$GRAPHRAG_DAGSTER_CORPORA``, else ``corpora`` in the home."""
    return os.environ.get(CORPORA) or str(home() / "corpora")


def warehouse_template() -> str:
    """The path of a corpus's DuckDB file, with ``{corpus}``; ``$GRAPHRAG_DAGSTER_WAREHOUSE`` overrides it."""
    return os.environ.get(WAREHOUSE) or str(home() / "warehouse" / "{corpus}.duckdb")


def dagster_home() -> Path:
    """The Dagster instance's folder: ``$DAGSTER_HOME``, else ``.dagster_home`` in the home."""
    return Path(os.environ.get("DAGSTER_HOME") or home() / ".dagster_home").resolve()


def memory_file() -> Path:
    """The file of remembered replies: ``$GRAPHRAG_DAGSTER_CACHE``, else one in the home's ``cache``."""
    return Path(os.environ.get(CACHE) or home() / "cache" / "replies.sqlite").resolve()
