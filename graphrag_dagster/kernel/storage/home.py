"""File locations on this machine. Environment variables are read on each call, never at import."""

import os
from dataclasses import dataclass
from pathlib import Path

from graphrag_dagster.errors import SettingsError

HOME = "GRAPHRAG_DAGSTER_HOME"
CORPORA = "GRAPHRAG_DAGSTER_CORPORA"
WAREHOUSE = "GRAPHRAG_DAGSTER_WAREHOUSE"
CACHE = "GRAPHRAG_DAGSTER_CACHE"
PUBLISHED = "GRAPHRAG_DAGSTER_PUBLISHED"
EXPLORER = "GRAPHRAG_DAGSTER_EXPLORER"
RESEARCH = "GRAPHRAG_DAGSTER_RESEARCH"
PREVIEWS = "GRAPHRAG_DAGSTER_PREVIEWS"


@dataclass(frozen=True, slots=True)
class HomeFolders:
    """File locations of an installation. Empty values are read from the environment when needed.

    Attributes:
        corpora: the folder of corpora.
        warehouse: the path of a corpus's DuckDB file, with ``{corpus}``.
        memory: the LLM cache: a file, or ``postgresql://…``.
        published: URL below which snapshots are shared by machines; see :func:`published_url`.
    """

    corpora: str = ""
    warehouse: str = ""
    memory: str = ""
    published: str = ""

    @classmethod
    def below(cls, home: Path) -> "HomeFolders":
        """The locations below a home folder."""
        return cls(
            corpora=str(home / "corpora"),
            warehouse=str(home / "warehouse" / "{corpus}.duckdb"),
            memory=str(home / "cache" / "replies.sqlite"),
        )


def home() -> Path:
    """The working folder: ``$GRAPHRAG_DAGSTER_HOME``, else the current folder."""
    return Path(os.environ.get(HOME) or ".").resolve()


def corpora_root() -> str:
    """The folder of corpora: ``$GRAPHRAG_DAGSTER_CORPORA``, else ``corpora`` in the home."""
    return os.environ.get(CORPORA) or HomeFolders.below(home()).corpora


def warehouse_template() -> str:
    """The path of a corpus's DuckDB file, with ``{corpus}``; ``$GRAPHRAG_DAGSTER_WAREHOUSE`` overrides it."""
    return os.environ.get(WAREHOUSE) or HomeFolders.below(home()).warehouse


def dagster_home() -> Path:
    """The Dagster instance's folder: ``$DAGSTER_HOME``, else ``.dagster_home`` in the home."""
    return Path(os.environ.get("DAGSTER_HOME") or home() / ".dagster_home").resolve()


def cache_place() -> str:
    """The LLM cache: ``$GRAPHRAG_DAGSTER_CACHE``, a file or ``postgresql://…``, else a file in the home."""
    return cache_location(os.environ.get(CACHE) or HomeFolders.below(home()).memory)


def cache_location(given: str, folder: Path | None = None) -> str:
    """Return the whole path of a cache file, as seen from ``folder`` or here; an address stays as it is."""
    return given if is_postgres(given) else str(((folder or Path()) / given).resolve())


def is_postgres(place: str) -> bool:
    """Whether a cache is in Postgres."""
    return place.startswith(("postgresql://", "postgres://"))


def published_url() -> str:
    """Where snapshots go besides the warehouse: ``$GRAPHRAG_DAGSTER_PUBLISHED``, such as
    ``s3://bucket/prefix`` or ``file:///folder``; else nowhere.
    """
    return os.environ.get(PUBLISHED) or ""


def explorer_url() -> str:
    """Address of the explorer: ``$GRAPHRAG_DAGSTER_EXPLORER``, else where ``serve`` listens."""
    return (os.environ.get(EXPLORER) or "http://127.0.0.1:8000").rstrip("/")


def is_on(switch: str) -> bool:
    """Whether an environment variable switches something on.

    Raises:
        SettingsError: it is neither ``true``, ``false``, ``1`` nor ``0``.
    """
    value = os.environ.get(switch, "").strip().lower()
    if value not in {"", "0", "1", "false", "true"}:
        raise SettingsError(f"{switch}: {value!r} is neither true nor false")
    return value in {"1", "true"}
