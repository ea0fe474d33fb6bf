"""Staging: where the interpreters of a step hand over the tables that they have made."""

import hashlib
import io
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from graphrag_dagster.errors import ObjectStoreError
from graphrag_dagster.kernel.common.atomic_files import write_atomically
from graphrag_dagster.kernel.storage.home import STAGING, staging_url
from graphrag_dagster.kernel.storage.object_store import ObjectFolder


@dataclass(frozen=True, slots=True)
class Staging:
    """Tables as Parquet files, each named by the hash of its content, so that the same table is one file.

    Attributes:
        root: a folder that all interpreters see at the same path, or one of an object store.
        path: of the files below it.
    """

    root: Path | ObjectFolder
    path: str

    @classmethod
    def of(cls, corpus: str, folder: Path) -> "Staging":
        """Return that of a corpus: below ``$GRAPHRAG_DAGSTER_STAGING``, else below the given folder.

        Raises:
            SettingsError: the variable has no URL of an object store.
        """
        url = staging_url()
        return cls(ObjectFolder(url, STAGING) if url else folder, corpus)

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
            self.root.put(f"{self.path}/{name}", content)
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
        found = self.root.get(f"{self.path}/{name}")
        if found is None:
            raise ObjectStoreError(
                f"{self.root.url_of(f'{self.path}/{name}')} was deleted while a step was using it; give each "
                f"installation a {STAGING} of its own, and run again"
            )
        return pl.read_parquet(io.BytesIO(found[0]))

    def clear(self) -> None:
        """Delete the files.

        Raises:
            ObjectStoreError: the object store cannot be used.
        """
        if isinstance(self.root, ObjectFolder):
            self.root.delete([one.path for one in self.root.list(self.path)])
            return
        folder = self.root / self.path
        shutil.rmtree(folder, ignore_errors=True)
        # Unless another step is using them.
        with suppress(OSError):
            for above in folder.relative_to(self.root).parents:
                (self.root / above).rmdir()
