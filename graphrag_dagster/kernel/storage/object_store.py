"""A folder of an object store: an S3 bucket, or a folder that several machines mount."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit
from urllib.request import url2pathname

from filelock import FileLock

from graphrag_dagster.errors import ObjectStoreError, SettingsError
from graphrag_dagster.kernel.storage.home import PUBLISHED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from obstore import UpdateVersion
    from obstore.store import ClientConfig, ObjectStore, RetryConfig

#: Files up to this size are uploaded in one request, and only where they are missing; larger ones in parts.
_ONE_REQUEST_BYTES = _PART_BYTES = 16 * 2**20
#: Of one request.
_RETRIES, _SECONDS = 3, 60
#: Why a server refuses a request, in its answer.
_CODE = re.compile(r"<Code>(\w{1,60})</Code>")


class ChangedError(Exception):
    """An object is no longer what it was when it was read."""


class UnchangedError(Exception):
    """An object is still what it was when it was read."""


@dataclass(frozen=True, slots=True)
class ObjectFolder:
    """A folder of an object store.

    Attributes:
        url: ``s3://bucket/prefix`` or ``file:///folder``, without a slash at the end. Credentials come from
            the environment, as of every AWS client.
    """

    url: str

    def __post_init__(self) -> None:
        wanted = f"{PUBLISHED} is {self.url!r}; it must be s3://bucket/prefix or file:///folder"
        try:
            parts = urlsplit(self.url)
        except ValueError:
            raise SettingsError(wanted) from None
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise SettingsError(
                f"{PUBLISHED} has a user, a query or a fragment; credentials belong in AWS_ACCESS_KEY_ID "
                "and AWS_SECRET_ACCESS_KEY, and the rest of the URL is s3://bucket/prefix"
            )
        if not (parts.scheme == "s3" and parts.netloc) and not (
            parts.scheme == "file" and not parts.netloc and len(parts.path) > 1 and "%00" not in parts.path
        ):
            raise SettingsError(wanted)

    def url_of(self, path: str) -> str:
        """Return the URL of an object."""
        return f"{self.url}/{quote(path)}"

    def get(self, path: str, unless: str | None = None) -> tuple[bytes, str] | None:
        """Return an object and its ETag; None if there is none.

        Args:
            path: of the object.
            unless: an ETag; the object is only returned if it has another.

        Raises:
            UnchangedError: it has that ETag.
            ObjectStoreError: the store cannot be used.
        """
        with self._errors():
            import obstore

            try:
                found = obstore.get(self._store(), path, options={"if_none_match": unless} if unless else {})
            except FileNotFoundError as error:
                if "NoSuchBucket" in str(error):
                    raise
                return None
            except obstore.exceptions.NotModifiedError:
                raise UnchangedError from None
            return bytes(found.bytes()), str(found.meta["e_tag"])

    def download(self, path: str, place: Path) -> bool:
        """Download an object in parts into a file; False if there is none."""
        with self._errors():
            import obstore

            store = self._store()
            try:
                size = obstore.head(store, path)["size"]
                with place.open("wb") as file:
                    for start in range(0, size, _PART_BYTES):
                        end = min(size, start + _PART_BYTES)
                        file.write(obstore.get_range(store, path, start=start, end=end))
                    file.flush()
                    os.fsync(file.fileno())
            except FileNotFoundError as error:
                if error.errno:
                    raise
                return False
            return True

    def put(self, path: str, content: bytes) -> str:
        """Write an object, and return its ETag."""
        with self._errors():
            import obstore

            return str(obstore.put(self._store(), path, content)["e_tag"])

    def upload(self, path: str, file: Path, before: str | None = None) -> str:
        """Upload a file unless it is there already, and return the object's ETag; nobody sees a part of it.

        Args:
            path: of the object.
            file: the file.
            before: the ETag that it had when it was uploaded, so that one that was changed since is written
                again; None where any object of the file's size will do.
        """
        with self._errors():
            import obstore

            store = self._store()
            size = file.stat().st_size
            with suppress(FileNotFoundError):
                there = obstore.head(store, path)
                if before in {None, there["e_tag"]} and there["size"] == size:
                    return str(there["e_tag"])
            if size > _ONE_REQUEST_BYTES:
                return str(obstore.put(store, path, file, chunk_size=_PART_BYTES, max_concurrency=4)["e_tag"])
            return str(obstore.put(store, path, file.read_bytes())["e_tag"])

    def swap(self, path: str, content: bytes, before: str | None) -> str:
        """Write an object if it has not changed, and return its new ETag.

        Args:
            path: of the object.
            content: of the object.
            before: the ETag of the object that is replaced; None to create it.

        Raises:
            ChangedError: it has changed or was created meanwhile.
            ObjectStoreError: the store cannot be used.
        """
        with self._errors():
            import obstore

            try:
                if before is None:
                    return str(obstore.put(self._store(), path, content, mode="create")["e_tag"])
                if self.local is None:
                    version: UpdateVersion = {"e_tag": before}
                    return str(obstore.put(self._store(), path, content, mode=version)["e_tag"])
                with FileLock(self.local / ".lock"):
                    if obstore.head(self._store(), path)["e_tag"] != before:
                        raise ChangedError
                    return str(obstore.put(self._store(), path, content)["e_tag"])
            except (obstore.exceptions.AlreadyExistsError, obstore.exceptions.PreconditionError):
                raise ChangedError from None

    def list(self, folder: str = "") -> dict[str, int]:
        """Return the sizes in bytes of the objects of a folder below, and of those in it, by path."""
        with self._errors():
            import obstore

            return {one["path"]: one["size"] for one in obstore.list(self._store(), folder or None).collect()}

    def delete(self, paths: Iterable[str]) -> None:
        """Delete objects; one that is gone already is no error."""
        with self._errors():
            import obstore

            for path in paths:
                with suppress(FileNotFoundError):
                    obstore.delete(self._store(), path)

    def delete_unfinished(self, folder: str, written: re.Pattern[str]) -> None:
        """Delete the parts of killed uploads in a mounted folder; a bucket does so by a lifecycle rule.

        Args:
            folder: they are in.
            written: matches the names of the objects that are uploaded there.
        """
        if self.local is not None:
            with self._errors():
                for leftover in (self.local / folder).glob("*#*"):
                    name, _, number = leftover.name.rpartition("#")
                    if written.fullmatch(name) and number.isdigit():
                        leftover.unlink(missing_ok=True)

    @property
    def local(self) -> Path | None:
        """The folder on this machine; None of a bucket."""
        parts = urlsplit(self.url)
        return Path(url2pathname(parts.path)) if parts.scheme == "file" else None

    def _store(self) -> ObjectStore:
        # A server may be started before its credentials change, and tests have several stores.
        environment = hash(frozenset(item for item in os.environ.items() if item[0].startswith("AWS_")))
        return _store(self.url, environment)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Tell what is wrong in one line: what the client says may hold keys of requests."""
        try:
            import obstore
        except ImportError:
            raise SettingsError(
                f"{PUBLISHED} is {self.url}, which needs the extra s3: pip install 'graphrag-dagster[s3]'"
            ) from None
        try:
            yield
        except (obstore.exceptions.BaseError, OSError, ValueError, NotImplementedError) as error:
            if isinstance(error, OSError) and error.errno and self.local is None:
                # Of a file of this machine.
                raise
            raise ObjectStoreError(f"{self.url} {self._reason(error)}") from None

    def _reason(self, error: Exception) -> str:
        if self.local is not None:
            known = error.strerror if isinstance(error, OSError) and error.strerror else ""
            why = known or ("does not exist" if not self.local.is_dir() else "cannot be read or written")
            return f"cannot be used ({why}); create or mount the folder, and check its permissions"
        keys = "AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        if code := _CODE.search(str(error)):
            return (
                f"cannot be used ({code[1]}); check that the bucket exists, {keys}, and that they have "
                "permission to get, put, list and delete objects there"
            )
        at = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        where = f" at {urlsplit(at).hostname}" if at else ""
        return (
            f"does not answer{where}, or refuses; check the network, AWS_ENDPOINT_URL, {keys}, and try again"
        )


@lru_cache(maxsize=8)
def _store(url: str, _environment: int) -> ObjectStore:
    from obstore.store import LocalStore, S3Store

    if url.startswith("file:"):
        return LocalStore.from_url(url)
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    seconds = timedelta(seconds=_SECONDS)
    options: ClientConfig = {"connect_timeout": timedelta(seconds=3), "timeout": seconds}
    if endpoint.startswith("http://"):
        options["allow_http"] = True
    retrying: RetryConfig = {"max_retries": _RETRIES, "retry_timeout": seconds}
    return S3Store.from_url(url, client_options=options, retry_config=retrying)
