"""The examples of a page of the documentation, run as its reader would.

- ``sh``: run by bash, one after the other in the same folder, with the variables that were exported. A server in the
  last line is started in the background, waited for, and ended with the page.
- ``text`` right after it: lines of the output, in this order; ``…`` stands for what is left out.
- ``yaml``, ``toml`` and ``python`` that begin with a comment that names a file are written there.
- other ``yaml``: settings of a corpus. Other ``python``: a script.
- ``<!-- not run: why -->``, ``<!-- not settings -->`` and ``<!-- ends with 6 -->`` stand before an example.
"""

import contextlib
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from markdown_it import MarkdownIt

from graphrag_dagster.kernel.settings.corpus_settings import parse_settings
from support.homes import VARIABLES
from support.shared import REPOSITORY

_FILE = re.compile(r"#\s*(?P<path>[\w./-]+\.(?:yaml|yml|toml|py))\s*$")
_SERVER = re.compile(r"(graphrag-dagster (serve|explore)(?! .*--export)|dagster dev)\b")
_INSTALL = re.compile(r"^(?:python -m )?pip install (?P<folder>\./\S+)$", re.MULTILINE)
#: Where a page says that servers stand; in a test each has a free port.
_PORTS = ("8080", "8000", "3000")
#: Seconds that a server may take to answer.
_PATIENCE = 180
#: Seconds after which an example counts as hung.
_LONGEST = 600


@dataclass(frozen=True)
class Example:
    """One block of code."""

    language: str
    text: str
    line: int
    #: Why it cannot be run here.
    not_run: str | None = None
    exit_code: int = 0
    settings: bool = True


def examples(page: str) -> list[Example]:
    """The blocks of code of a page, with what the comments before them say."""
    found: list[Example] = []
    said = ""
    for token in MarkdownIt().parse(page):
        if token.type == "html_block":
            said = token.content
        elif token.type == "fence":
            reason = re.search(r"not run: (.+?) *-->", said)
            code = re.search(r"ends with (\d+)", said)
            found.append(
                Example(
                    token.info.strip(),
                    token.content,
                    (token.map or [0])[0] + 1,
                    reason[1] if reason else None,
                    int(code[1]) if code else 0,
                    "not settings" not in said,
                )
            )
            said = ""
        elif token.type in ("inline", "heading_open"):
            said = ""
    return found


class Reader:
    """Follows pages in a folder.

    Args:
        folder: where the reader works.
        endpoint: base URL of the model that stands where pages say ``http://127.0.0.1:8080/v1``.
    """

    def __init__(self, folder: Path, endpoint: str) -> None:
        self.folder = folder
        self._plugins = folder / ".plugins"
        self._servers: list[subprocess.Popen[str]] = []
        self._ports = dict(zip(_PORTS, (_port_of(endpoint), _free_port(), _free_port()), strict=True))
        hidden = {*VARIABLES, "DAGSTER_HOME", "GRAPHRAG_DAGSTER_HOME"}
        self._environment = {name: value for name, value in os.environ.items() if name not in hidden} | {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "PYTHONPATH": os.pathsep.join([str(self._plugins), str(REPOSITORY)]),
            "BROWSER": "true",
            "COLUMNS": "110",
            "DAGSTER_DISABLE_TELEMETRY": "1",
        }

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
            server.wait()

    def follow(self, page: Path) -> None:
        """Do what the page says, and fail with the line where it goes wrong."""
        said: str | None = None
        for example in examples(page.read_text(encoding="utf-8")):
            try:
                said = self._do(example, said)
            except (AssertionError, OSError, ValueError, subprocess.SubprocessError) as error:
                raise AssertionError(f"{page.name}, line {example.line}: {error}") from error

    def _do(self, example: Example, said: str | None) -> str | None:
        if example.not_run:
            return None
        text = self._here(example.text)
        named = _FILE.match(text.partition("\n")[0])
        if example.language in ("yaml", "toml", "python") and named:
            path = self.folder / named["path"]
            assert path.resolve().is_relative_to(self.folder.resolve()), f"{path} lies outside"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif example.language == "sh":
            return self._run(text, example.exit_code)
        elif example.language == "python":
            return self._call([sys.executable, "-"], example.exit_code, text)
        elif example.language == "yaml" and example.settings:
            parse_settings(yaml.safe_load(text), "the example")
        elif example.language == "text" and said is not None:
            _compare(text, said)
        return None

    def _run(self, text: str, exit_code: int) -> str | None:
        for one in _INSTALL.finditer(text):
            self._install(self.folder / one["folder"])
        text = _INSTALL.sub(":", text)
        *before, last = text.strip().splitlines()
        if _SERVER.match(last):
            said = self._run("\n".join(before), exit_code) if before else None
            self._serve(last.partition(" #")[0].rstrip())
            return said
        state = self.folder / ".state"
        keep = f"trap 'env -0 > {shlex.quote(str(state))}' EXIT\nset -e\n"
        said = self._call(["bash"], exit_code, keep + text)
        for one in state.read_text(encoding="utf-8").split("\0"):
            name, _, value = one.partition("=")
            if name and name not in ("_", "SHLVL", "PWD", "OLDPWD"):
                self._environment[name] = value
        state.unlink()
        return said

    def _call(self, command: list[str], exit_code: int, given: str) -> str:
        done = subprocess.run(
            command,
            input=given,
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_LONGEST,
            check=False,
        )
        assert done.returncode == exit_code, f"ended with {done.returncode}\n{given}\n{done.stdout[-3000:]}"
        return done.stdout

    def _install(self, package: Path) -> None:
        """Install a package of the page where only this reader's Python looks."""
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--upgrade",
        ]
        options = ["--no-deps", "--no-build-isolation", "--target", str(self._plugins), str(package)]
        subprocess.run([*command, *options], check=True, env=self._environment, timeout=_LONGEST)

    def _serve(self, command: str) -> None:
        port = self._ports["3000" if command.startswith("dagster dev") else "8000"]
        if asked := re.search(r"--port[ =](\d+)", command):
            port = asked[1]
        else:
            command += f" --port {port}"
        server = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],  # noqa: S607
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self._servers.append(server)
        end = time.monotonic() + _PATIENCE
        while not _listens(int(port)):
            assert server.poll() is None, f"{command} ended with {server.returncode}"
            assert time.monotonic() < end, f"{command} does not answer on port {port}"
            time.sleep(0.2)

    def _here(self, text: str) -> str:
        for port, ours in self._ports.items():
            text = re.sub(rf"\b(127\.0\.0\.1|localhost):{port}\b", rf"\1:{ours}", text)
        return text


def _compare(expected: str, said: str) -> None:
    lines: Iterator[str] = iter(" ".join(line.split()) for line in said.splitlines())
    for line in expected.splitlines():
        wanted = " ".join(line.split())
        if wanted in ("", "…"):
            continue
        begins = wanted.endswith("…")
        wanted = wanted.removesuffix("…").rstrip()
        found = any(one.startswith(wanted) if begins else one == wanted for one in lines)
        assert found, f"this line is not in the output, or not in this order: {wanted}\n{said}"


def _port_of(endpoint: str) -> str:
    return endpoint.rpartition(":")[2].partition("/")[0]


def _free_port() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as one:
        one.settimeout(0.2)
        return one.connect_ex(("127.0.0.1", port)) == 0


#: What lies in the folder of a reader who has documents, but no index of them.
PAPERS: Mapping[str, str] = {
    "lighthouse.md": "# The lighthouse of Port Brenna\n\nAda Holm keeps the lighthouse of Port Brenna. The Harbour "
    "Trust pays Ada Holm since 2019. On 4 March 2021 the Harbour Trust bought a new lamp for 4,200 crowns.\n",
    "ferry.md": "# The ferry\n\nThe Coastal Line runs the ferry between Port Brenna and Skarholm. Nils Berg is "
    "captain of the ferry. Nils Berg told the Harbour Trust in 2022 that the lamp could not be seen from Skarholm.\n",
    "meeting.md": "# Meeting of the Harbour Trust, 12 May 2022\n\nAda Holm and Nils Berg attended. The Harbour Trust "
    "decided to raise the lamp by two metres. The Coastal Line gave 1,500 crowns for the work.\n",
}
