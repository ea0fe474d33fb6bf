"""Our readers of documents beside MarkItDown: seconds, memory and words kept, each file in a fresh process.

MarkItDown is no dependency; install it elsewhere and give that Python:

    python benchmarks/document_readers.py --other /elsewhere/bin/python
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

_OURS = """
import sys, time, resource, json
begin = time.perf_counter()
from graphrag_dagster.kernel.documents.file_reading import format_of, reader_of
from graphrag_dagster.kernel.documents.file_records import SourceFile
path = sys.argv[1]
data = open(path, "rb").read()
read = lambda: reader_of(format_of(path))(data, SourceFile(path)).records[0].text
text = read()
"""
_THEIRS = """
import sys, time, resource, json
begin = time.perf_counter()
from markitdown import MarkItDown
reader = MarkItDown()
path = sys.argv[1]
read = lambda: reader.convert(path).text_content
text = read()
"""
_TOLD = """
first = time.perf_counter() - begin
begin = time.perf_counter()
for _ in range(3):
    read()
print(json.dumps({"text": text, "first": first, "again": (time.perf_counter() - begin) / 3,
    "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""


def main() -> None:
    """Print a row per file and reader."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--other", type=Path, help="the Python that has markitdown[docx,pdf,pptx]")
    arguments = parser.parse_args()
    readers = [("ours", sys.executable, _OURS)]
    if arguments.other:
        readers.append(("MarkItDown", str(arguments.other), _THEIRS))
    table = Table("file", "reader", "first, s", "again, ms", "memory, MB", "words", "of the words sought")
    with tempfile.TemporaryDirectory() as folder:
        for path, sought in _files(Path(folder)):
            for name, python, program in readers:
                table.add_row(path.name, name, *_cells(python, program, path, sought))
    Console(width=140).print(table)


def _files(folder: Path) -> list[tuple[Path, list[str]]]:
    """Files of the sample corpus, and made ones with a word in each element that a reader may miss."""
    from kernel.documents import test_docx_elements as word
    from kernel.documents.test_packaged_readers import TABLE
    from support.files import epub, pptx, shape

    found: list[tuple[Path, list[str]]] = [
        (path, [])
        for path in sorted((ROOT / "graphrag_dagster" / "sample" / "harbour").rglob("*"))
        if path.suffix in (".docx", ".pdf", ".html")
    ]
    cases = [mark for mark in word.test_the_words_of_every_element_are_in_the_text.pytestmark if mark.args]
    bodies = [body for body, _ in cases[0].args[1]]
    made = {
        "elements.docx": (
            word.made("".join(bodies)),
            [" ".join(text.split()) for _, text in cases[0].args[1]],
        ),
        "slides.pptx": (
            pptx(shape("The mole", kind="title") + TABLE, shape("Last words"), notes=shape("Say it slowly.")),
            ["The mole", "Ship", "Last words", "Say it slowly."],
        ),
        "book.epub": (
            epub("<h1>Storm</h1><p>It rose.</p>", "<p>It fell.</p>"),
            ["Storm", "It rose.", "It fell."],
        ),
        "faq.html": (
            b"<html><body><button>When was it founded?</button><p>In 1911.</p>"
            b"<details><summary>Who?</summary><p>Hanna.</details>"
            b"<blockquote>Gone.<footer>Ada Fell</footer></blockquote>"
            b"</body></html>",
            ["When was it founded?", "In 1911.", "Who?", "Hanna.", "Ada Fell"],
        ),
    }
    for name, (data, sought) in made.items():
        (folder / name).write_bytes(data)
        found.append((folder / name, sought))
    return found


def _cells(python: str, program: str, path: Path, sought: list[str]) -> list[str]:
    ran = subprocess.run([python, "-c", program + _TOLD, str(path)], capture_output=True, text=True, cwd=ROOT)
    if ran.returncode:
        return [ran.stderr.strip().splitlines()[-1][:60]]
    told = json.loads(ran.stdout.splitlines()[-1])
    text = " ".join(told["text"].split())
    kept = f"{sum(one in text for one in sought)} of {len(sought)}" if sought else "–"
    numbers = (f"{told['first']:.2f}", f"{told['again'] * 1000:.1f}", f"{told['memory']:.0f}")
    return [*numbers, f"{len(text.split()):,}", kept]


if __name__ == "__main__":
    main()
