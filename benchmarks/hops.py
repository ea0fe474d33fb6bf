"""How many functions, files and folders of the package run for one question, and for one more text.

What a reader has to walk through. Both are asked of the command line's ``main``, over two texts of the
sample and without a model; what runs in other processes (readers of files) is not counted.

    python benchmarks/hops.py [question] [text]
"""

import argparse
import contextlib
import io
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import graphrag_dagster

PACKAGE = Path(graphrag_dagster.__file__).parent
SAMPLE = PACKAGE / "sample" / "harbour"
LIMITS = {"question": (375, 90), "text": (540, 115)}


@dataclass
class Hops:
    """What was called: functions by file, the most frames of ours at once, and how often the file changed."""

    functions: dict[str, set[str]] = field(default_factory=dict)
    deepest: int = 0
    changes: int = 0
    _last: str = ""
    _known: dict[CodeType, str | None] = field(default_factory=dict)

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or (file := self._file(frame.f_code)) is None:
            return
        name = f"{frame.f_code.co_qualname}:{frame.f_code.co_firstlineno}"
        self.functions.setdefault(file, set()).add(name)
        self.changes += file != self._last
        self._last = file
        self.deepest = max(self.deepest, self._depth(frame))

    def line(self, name: str) -> str:
        count, files = sum(map(len, self.functions.values())), len(self.functions)
        folders = len({Path(file).parent for file in self.functions})
        most_functions, most_files = LIMITS[name]
        return (
            f"{name}: {count} functions (limit {most_functions}) in {files} files (limit {most_files}) "
            f"of {folders} folders, {self.deepest} frames deep, {self.changes} changes of file"
        )

    def _file(self, code: CodeType) -> str | None:
        if code not in self._known:
            ours = code.co_filename.startswith(str(PACKAGE)) and not code.co_name.startswith("<")
            # A class's body is run when its module is loaded, and is no function.
            is_function = bool(code.co_flags & 0x2)
            self._known[code] = code.co_filename if ours and is_function else None
        return self._known[code]

    def _depth(self, frame: FrameType | None) -> int:
        depth = 0
        while frame is not None:
            depth += self._file(frame.f_code) is not None
            frame = frame.f_back
        return depth


@contextlib.contextmanager
def counted() -> Iterator[Hops]:
    """Count what is called within, in all threads."""
    hops = Hops()
    threading.setprofile(hops)
    sys.setprofile(hops)
    try:
        yield hops
    finally:
        sys.setprofile(None)
        # The stubs of Python 3.11 do not know that None ends it.
        threading.setprofile(None)  # type: ignore[arg-type]


def command(*arguments: str, count: bool = False) -> Hops:
    """Run the command line's ``main`` in a child of this process, as a user's first command is run."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        code = 1
        with contextlib.suppress(BaseException):
            code = _in_child(arguments, writing, count=count)
        os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = pipe.read()
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        sys.exit(f"graphrag-dagster {' '.join(arguments)} failed: {told}")
    hops = Hops()
    if count:
        deepest, changes, *lines = told.splitlines()
        hops.deepest, hops.changes = int(deepest), int(changes)
        for line in lines:
            file, _, name = line.partition("\t")
            hops.functions.setdefault(file, set()).add(name)
    return hops


def _in_child(arguments: tuple[str, ...], writing: int, *, count: bool) -> int:
    from graphrag_dagster.cli import main

    sys.argv = ["graphrag-dagster", *arguments]
    printed, code = io.StringIO(), 0
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            if count:
                with counted() as hops:
                    main()
            else:
                main()
        except SystemExit as ended:
            code = int(ended.code or 0)
    with os.fdopen(writing, "w") as pipe:
        if code:
            pipe.write(printed.getvalue())
        elif count:
            pipe.write(f"{hops.deepest}\n{hops.changes}\n")
            for file, names in hops.functions.items():
                pipe.writelines(f"{file}\t{name}\n" for name in sorted(names))
    return code


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", default=list(LIMITS))
    parser.add_argument("--list", action="store_true", help="name the files and their functions")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        os.environ["GRAPHRAG_DAGSTER_HOME"] = str(home / "home")
        corpus = home / "two"
        corpus.mkdir()
        texts = sorted(SAMPLE.rglob("*.txt")) + sorted(SAMPLE.rglob("*.md"))
        for text in texts[:2]:
            shutil.copy(text, corpus)
        command("index", str(corpus))
        asked = ("ask", "two", "What did Gideon Marwood do?", "--method", "local")
        counts = {"question": command(*asked, count=True)}
        shutil.copy(texts[2], corpus)
        counts["text"] = command("index", "two", count=True)
        for name in given.what:
            print(counts[name].line(name))
            if given.list:
                for file, names in sorted(counts[name].functions.items()):
                    print(f"  {Path(file).relative_to(PACKAGE)}: {', '.join(sorted(names))}")


if __name__ == "__main__":
    main()
