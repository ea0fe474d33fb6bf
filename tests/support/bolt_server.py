"""A server that speaks Bolt 5.4 as a script says, for one client after the other."""

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from neo4j._codec.packstream.v1 import PackableBuffer, Packer, UnpackableBuffer, Unpacker

from support.served_graph import ServedGraph

_VERSION = b"\x00\x00\x04\x05"
_HELLO, _GOODBYE, _RESET, _RUN, _BEGIN, _COMMIT, _ROLLBACK = 0x01, 0x02, 0x0F, 0x10, 0x11, 0x12, 0x13
_DISCARD, _PULL, _TELEMETRY, _LOGON, _LOGOFF = 0x2F, 0x3F, 0x54, 0x6A, 0x6B
_SUCCESS, _IGNORED, _FAILURE, _RECORD = b"\x70", b"\x7e", b"\x7f", b"\x71"
#: How long a client that went away is noticed.
_PAUSE = 0.01


class Gone(Exception):
    """The client went away, or is to be left."""


@dataclass
class BoltScript:
    """What the server does: rows, or a fault.

    Attributes:
        columns: of every result.
        rows: of every result; nodes as :func:`node` makes them.
        answers: columns and rows of the queries that hold certain words, in place of these.
        login: that is let in; None for anybody.
        fails: code and text of what a query is answered with in place of rows.
        drops_after: rows after which the connection ends.
        endless: the rows come again and again.
        silent: a query is never answered.
        modes: what each transaction was begun as, ``r`` for reading.
        queries: texts and parameters that were run.
        messages: tags of all that came.
        timeouts: of each transaction, in milliseconds.
        committed: transactions.
        graph: answers queries in place of rows.
        drops_at: the query at which the connection ends, 1…, or ``commit``.
    """

    columns: tuple[str, ...] = ("n",)
    rows: Iterable[tuple[Any, ...]] = ((1,), (2,))
    answers: dict[str, tuple[tuple[str, ...], list[tuple[Any, ...]]]] = field(default_factory=dict)
    login: tuple[str, str] | None = None
    fails: tuple[str, str] | None = None
    drops_after: int | None = None
    endless: bool = False
    silent: bool = False
    modes: list[str] = field(default_factory=list)
    queries: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    timeouts: list[int | None] = field(default_factory=list)
    committed: int = 0
    graph: ServedGraph | None = None
    drops_at: int | str | None = None


class Structure:
    """A structure of PackStream, packed as it is."""

    def __init__(self, tag: bytes, *fields: Any) -> None:
        self.tag, self.fields = tag, fields


def node(identity: int, labels: list[str], properties: dict[str, Any]) -> Structure:
    return Structure(b"N", identity, labels, properties, f"4:{identity}")


def relation(identity: int, kind: str, properties: dict[str, Any]) -> Structure:
    return Structure(b"R", identity, 0, 1, kind, properties, f"5:{identity}", "4:0", "4:1")


class BoltServer:
    """Listens on the loopback device while its block lasts."""

    def __init__(self, script: BoltScript) -> None:
        self.script = script
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.uri = f"bolt://127.0.0.1:{self._listening.getsockname()[1]}"
        self._ended = threading.Event()

    def __enter__(self) -> "BoltServer":
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        with contextlib.suppress(OSError):
            socket.create_connection(self._listening.getsockname(), 1).close()
        self._listening.close()
        self._thread.join(10)

    def _serve(self) -> None:
        while not self._ended.is_set():
            with contextlib.suppress(OSError, Gone, struct.error):
                client, _ = self._listening.accept()
                with client:
                    client.settimeout(10)
                    _Client(client, self.script, self._ended).talk()


class _Client:
    def __init__(self, client: socket.socket, script: BoltScript, ended: threading.Event) -> None:
        self._socket, self._script, self._ended = client, script, ended
        self._failed = False
        self._rows: Iterator[tuple[Any, ...]] = iter(())

    def talk(self) -> None:
        self._read(20)
        self._socket.sendall(_VERSION)
        while True:
            tag, fields = self._message()
            self._script.messages.append(tag)
            if tag == _GOODBYE:
                return
            if tag == _RESET:
                self._failed = False
                self._success()
            elif self._failed:
                self._send(_IGNORED)
            else:
                self._answer(tag, fields)

    def _answer(self, tag: int, fields: list[Any]) -> None:
        script = self._script
        match tag:
            case 0x01:
                self._success(server="Neo4j/5.26.0", connection_id="bolt-1", hints={})
            case 0x6A:
                given = (fields[0].get("principal"), fields[0].get("credentials"))
                if script.login and given != script.login:
                    self._failure("Neo.ClientError.Security.Unauthorized", f"no entry for {given}")
                    raise Gone
                self._success()
            case 0x11:
                script.modes.append(fields[0].get("mode", "w"))
                script.timeouts.append(fields[0].get("tx_timeout"))
                self._success()
            case 0x10:
                script.queries.append((fields[0], fields[1]))
                self._run(*fields[:2])
            case 0x3F:
                self._pull(int(fields[0]["n"]))
            case 0x12:
                self._commit()
                self._success(bookmark="b")
            case _:
                self._success()

    def _commit(self) -> None:
        if self._script.drops_at == "commit":
            raise Gone
        if self._script.graph is not None:
            self._script.graph.commit()
        self._script.committed += 1

    def _run(self, query: str, given: dict[str, Any]) -> None:
        script = self._script
        if script.drops_at == len(script.queries):
            raise Gone
        if script.graph is not None:
            script.columns, script.rows = script.graph.run(query, given)
        known = (made for words, made in script.answers.items() if words in query)
        script.columns, script.rows = next(known, (script.columns, script.rows))
        if script.silent:
            self._ended.wait(30)
            raise Gone
        if script.fails:
            self._failure(*script.fails)
            return
        self._rows = self._repeated() if script.endless else iter(script.rows)
        self._success(fields=list(script.columns), qid=0)

    def _repeated(self) -> Iterator[tuple[Any, ...]]:
        while not self._ended.is_set():
            yield from self._script.rows

    def _pull(self, number: int) -> None:
        sent = 0
        while number < 0 or sent < number:
            if self._script.drops_after is not None and sent == self._script.drops_after:
                raise Gone
            row = next(self._rows, None)
            if row is None:
                self._success(type="r")
                return
            self._send(_RECORD, list(row))
            sent += 1
            if self._script.endless:
                time.sleep(_PAUSE / 10)
        self._success(has_more=True)

    def _success(self, **metadata: Any) -> None:
        self._send(_SUCCESS, metadata)

    def _failure(self, code: str, text: str) -> None:
        self._failed = True
        self._send(_FAILURE, {"code": code, "message": text})

    def _send(self, tag: bytes, *fields: Any) -> None:
        buffer = PackableBuffer()
        _pack(Packer(buffer), Structure(tag, *fields))
        data = bytes(buffer.data)
        parts = [data[start : start + 0xFFFF] for start in range(0, len(data), 0xFFFF)]
        self._socket.sendall(b"".join(struct.pack(">H", len(p)) + p for p in parts) + b"\x00\x00")

    def _message(self) -> tuple[int, list[Any]]:
        data = b""
        while True:
            (size,) = struct.unpack(">H", self._read(2))
            if size:
                data += self._read(size)
            elif data:
                break
        unpacker = Unpacker(UnpackableBuffer(bytearray(data)))
        size, tag = unpacker.unpack_structure_header()
        return tag[0], [unpacker.unpack() for _ in range(size)]

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            some = self._socket.recv(size - len(data))
            if not some:
                raise Gone
            data += some
        return data


def _pack(packer: Packer, value: Any) -> None:
    """Structures may stand inside of lists and mappings; the driver's packer packs them at the top alone."""
    if isinstance(value, Structure):
        packer._write(bytes([0xB0 + len(value.fields)]) + value.tag)
        for one in value.fields:
            _pack(packer, one)
    elif isinstance(value, list | tuple):
        packer._pack_list_header(len(value))
        for one in value:
            _pack(packer, one)
    elif isinstance(value, dict):
        packer._pack_map_header(len(value))
        for key, one in value.items():
            packer.pack(key)
            _pack(packer, one)
    else:
        packer.pack(value)
