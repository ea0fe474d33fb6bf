import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from graphrag_dagster.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in this process; gives exit code, output and errors."""

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["graphrag-dagster", *arguments])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command
