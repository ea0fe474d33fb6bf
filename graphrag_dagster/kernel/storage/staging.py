"""Staging: where the interpreters of a step hand over the tables that they have made."""

import hashlib
import io
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath

import polars as pl

from graphrag_dagster.errors import ObjectStoreError, SettingsError
from graphrag_dagster.kernel.common.atomic_files import write_atomically
from graphrag_dagster.kernel.storage.home import HOME, STAGING, staging_url
from graphrag_dagster.kernel.storage.object_store import ObjectFolder

#: In what the variable names, so that nothing else is there.
_FOLDER = "staging"
#: Names of the files that are written, whole or unfinished; no other is deleted.
_WRITTEN = re.compile(r"[0-9a-f]{64}\.parquet(\..+\.part)?")


@dataclass(frozen=True, slots=True)
class Staging:
    """Tables as Parquet files, each named by the hash of its content, so that the same table is one file.

    Attributes:
        root: a folder that all interpreters see at the same path, or one of an object store, in which all is
            below ``staging``.
        path: of the files below it.
    """

    root: Path | ObjectFolder
    path: str

    @classmethod
    def of(cls, corpus: str, folder: Path) -> "Staging":
        """Return that of a corpus: in ``staging`` below ``$GRAPHRAG_DAGSTER_STAGING``, else in ``folder``.

        Raises:
            ObjectStoreError: the variable names a folder that is not there.
            SettingsError: it has no URL of an object store.
        """
        if not (url := staging_url()):
            return cls(folder, corpus)
        store = ObjectFolder(url, STAGING)
        if store.local is None:
            return cls(store, corpus)
        if not store.local.is_dir():
            raise ObjectStoreError(f"{STAGING} is {url}, which is no folder; create or mount it")
        return cls(store.local / _FOLDER, corpus)

    def below(self, name: str) -> "Staging":
        """Return a part of it, such as that of a step."""
        return Staging(self.root, f"{self.path}/{name}")

    @property
    def folder(self) -> Path | None:
        """The folder of the files; None in an object store."""
        return self.root / self.path if isinstance(self.root, Path) else None

    def put(self, frame: pl.DataFrame) -> str:
        """Write a table, and return its name.

        Raises:
            ObjectStoreError: the object store cannot be used.
            OSError: the folder cannot be written.
        """
        written = io.BytesIO()
        frame.write_parquet(written)
        content = written.getvalue()
        name = f"{hashlib.sha256(content).hexdigest()}.parquet"
        if isinstance(self.root, ObjectFolder):
            self.root.put(f"{_FOLDER}/{self.path}/{name}", content)
        else:
            write_atomically(self.root / self.path / name, content)
        return name

    def get(self, name: str) -> pl.DataFrame:
        """Return a table by its name.

        Raises:
            ObjectStoreError: the object store cannot be used, or has lost it.
            OSError: it cannot be read.
        """
        if isinstance(self.root, Path):
            return pl.read_parquet(self.root / self.path / name)
        path = f"{_FOLDER}/{self.path}/{name}"
        if (found := self.root.get(path)) is None:
            raise ObjectStoreError(
                f"{self.root.url_of(path)} was deleted while a step was using it; give each "
                f"installation a {STAGING} of its own, and run again"
            )
        return pl.read_parquet(io.BytesIO(found[0]))

    def clear(self) -> None:
        """Delete the files, and the folders that are empty then.

        Raises:
            ObjectStoreError: the object store cannot be used.
        """
        if isinstance(self.root, ObjectFolder):
            found = [one.path for one in self.root.list(f"{_FOLDER}/{self.path}")]
            self.root.delete([path for path in found if _WRITTEN.fullmatch(PurePath(path).name)])
            return
        folder = self.root / self.path
        files = [file for file in folder.rglob("*") if _WRITTEN.fullmatch(file.name)]
        for file in files:
            # The next step tries again.
            with suppress(OSError):
                file.unlink()
        # Unless another step is using them.
        for emptied in sorted({folder / "any", *files}, reverse=True):
            with suppress(OSError):
                for above in emptied.relative_to(self.root).parents:
                    (self.root / above).rmdir()


def check_staging(others: Mapping[str, str | Path]) -> None:
    """Check that ``$GRAPHRAG_DAGSTER_STAGING`` is apart from where anything else is kept.

    Args:
        others: folders or URLs, by what they are.

    Raises:
        SettingsError: it is one of them, holds one or, unless that is the home, lies in one; or it has no URL
            of an object store.
    """
    if not (url := staging_url()):
        return
    own = ObjectFolder(url, STAGING).location
    for called, other in others.items():
        place = other.resolve() if isinstance(other, Path) else ObjectFolder(other).location
        how = "is" if own == place else "holds" if place.is_relative_to(own) else "lies in"
        if how != "lies in" or (own.is_relative_to(place) and called != HOME):
            raise SettingsError(
                f"{STAGING} is {url}, which {how} {called} ({other}); give it a folder or a bucket of its own"
            )
