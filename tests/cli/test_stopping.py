"""What ends a command: signals, and what the system refuses."""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import sleep
from urllib.request import urlopen

import pytest

from graphrag_dagster.kernel.common.printable import os_error_message
from support.commands import Run
from support.corpora import write_corpus
from support.damage import without_log
from support.endpoint import ScriptedEndpoint

COMMAND = Path(sys.executable).with_name("graphrag-dagster")

# A shell without job control has what runs in the background ignore Ctrl-C. The child resets that before it becomes
# the command: a `preexec_fn` runs between fork and exec, which is unsafe beside the threads of a test worker.
RUN_INTERRUPTIBLE = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"


def stopped(arguments: list[str], number: int, when: Callable[[], bool]) -> tuple[int, str, str]:
    """Run a command in a group of its own, and signal it as a terminal does once it is time."""
    with subprocess.Popen(
        [sys.executable, "-c", RUN_INTERRUPTIBLE, COMMAND, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    ) as process:
        while process.poll() is None and not when():
            sleep(0.05)
        assert process.poll() is None, process.communicate()
        os.killpg(process.pid, number)
        out, err = process.communicate()
        return process.returncode, out, err


@pytest.mark.long
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.long)]
)
def test_a_stopped_index_ends_with_a_line_and_keeps_what_was_paid(home: Path, number: int, code: int) -> None:
    with ScriptedEndpoint(seconds=0.3) as endpoint:
        write_corpus(
            home / "corpora",
            settings="engine: llm\ntext_units: {strategy: sentences, size: 40, overlap: 0}\n"
            f"model: {{base_url: '{endpoint.url}', name: scripted, concurrency: 2}}\n",
        )
        ended, _, err = stopped(["index", "coast"], number, lambda: len(endpoint.chats) > 5)
        assert ended == code
        assert err.splitlines()[-1] == f"stopped by {signal.Signals(number).name}; finished work is kept"
        for word in ("Traceback", "Exception ignored", "Interrupt"):
            assert word not in err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_server_ends_with_a_line(home: Path, number: int, code: int) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def answers() -> bool:
        with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/corpora") as answer:
            return bool(answer.status == 200)
        return False

    ended, _, err = stopped(["serve", "--port", str(port)], number, answers)
    assert ended == code, err
    told = f"stopped by {signal.Signals(number).name}; finished work is kept"
    assert err.splitlines()[-1] == told
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("number", "mend"),
    [
        (errno.EACCES, "fix its permissions"),
        (errno.ENAMETOOLONG, "use a shorter name"),
        (errno.EROFS, "set GRAPHRAG_DAGSTER_HOME"),
        (errno.ENOSPC, "free space"),
        (errno.ESTALE, "remount its file system"),
    ],
)
def test_what_the_system_refuses_is_one_line(number: int, mend: str) -> None:
    told = os_error_message(OSError(number, os.strerror(number), "/some/where"))
    assert told.startswith("/some/where: ")
    assert mend in told
    assert "\n" not in told


def test_a_home_that_is_a_file_is_one_line(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_corpus(home / "corpora")
    (home / "a file").touch()
    monkeypatch.setenv("DAGSTER_HOME", str(home / "a file" / "below"))
    code, _, err = run("index", "coast")
    assert code == 1
    assert "error: " in err
    assert "a file" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("history/runs.db", b"no database" * 1000),
        ("history/runs/index.db", b"no database" * 1000),
        ("history/runs/index.db", b""),
    ],
)
def test_damaged_records_of_dagster_are_named_with_the_way_out(
    run: Run, coast: Path, home: Path, file: str, content: bytes
) -> None:
    place = without_log(home / ".dagster_home" / file)
    place.write_bytes(content)
    code, _, err = run("index", "coast", "--again")
    assert code == 1, err
    assert "error: Dagster's records are damaged: " in err
    assert str(place) in err
    assert "move" in err


def test_a_damaged_pointer_hides_no_other_corpus(run: Run, coast: Path, home: Path) -> None:
    write_corpus(home / "corpora", "another")
    folder = home / "warehouse" / "published" / "another"
    folder.mkdir(parents=True)
    (folder / "current.json").write_text("{")
    code, out, _ = run("corpora", "--json")
    listed = json.loads(out)
    assert (code, [one["corpus"] for one in listed["corpora"]]) == (0, ["coast"])
    assert "delete it and run" in listed["damaged"]["another"]
    assert "another cannot be read" in run("corpora")[1]
