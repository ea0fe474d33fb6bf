"""The README's commands in its order, on a folder of one's own, without a model and with a scripted one.

    python benchmarks/first_use.py [plain|model ...]

The folder has documents such as people have: some are read, one is damaged, one is German, one is hidden.
Each command is a process in a fresh home, at a width of 80 columns and without a terminal. Printed are the
command, its exit code, its seconds and all that it wrote; at the end which commands ended otherwise than
expected or showed a traceback, with 1 as the exit code if there are any.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.endpoint import ScriptedEndpoint

WAYS = ("plain", "model")
PROGRAM = Path(sys.executable).parent / "graphrag-dagster"
SETTINGS = """engine: llm
model:
  base_url: {url}
  name: scripted
"""
DOCUMENTS = {
    "minutes/2021-03-meeting.txt": (
        "Minutes of the Orchard Society, March 2021.\n"
        "\n"
        "Lena Marrow chaired the meeting in Tillbury. Lena Marrow proposed that the Orchard Society "
        "buy the Perrin Field. Oskar Vane of the Tillbury Bank spoke against the purchase. The "
        "Orchard Society decided to buy the Perrin Field for 4,200 pounds. Oskar Vane asked for his "
        "doubts to be written down.\n"
    ),
    "minutes/2022-10-meeting.txt": (
        "Minutes of the Orchard Society, October 2022.\n"
        "\n"
        "The Perrin Field was flooded in August. Lena Marrow thanked the Tillbury Bank for a loan. "
        "Oskar Vane said that the Tillbury Bank had warned the Orchard Society. Ida Brandt planted "
        "forty pear trees on the Perrin Field. The Orchard Society decided to dig a ditch along the "
        "River Sull.\n"
    ),
    "letter.md": (
        "# A letter to the members\n"
        "\n"
        "Ida Brandt has left the Orchard Society for the Sull Valley Museum. The Sull Valley Museum "
        "shows the presses that Lena Marrow gave it. Ida Brandt hopes that the Orchard Society will "
        "lend its old ladders.\n"
    ),
    "about.html": (
        "<html><head><title>Sull Valley Museum</title></head><body><h1>Sull Valley Museum</h1><p>The "
        "Sull Valley Museum in Tillbury was opened in 1988. Its director is Ida Brandt. The Tillbury "
        "Bank pays for the roof of the Sull Valley Museum.</p></body></html>\n"
    ),
    "trees.csv": (
        "variety,planted,by,note\n"
        "Conference,2022,Ida Brandt,Ida Brandt planted Conference pears on the Perrin Field.\n"
        "Bramley,2021,Lena Marrow,Lena Marrow planted Bramley apples beside the River Sull.\n"
    ),
    "brief.txt": (
        "Sehr geehrte Frau Marrow, wir danken Ihnen für die Einladung nach Tillbury. Der Verein hat "
        "beschlossen, im nächsten Jahr mit zwölf Mitgliedern zu kommen. Wir möchten auch das Museum "
        "besuchen und würden gern wissen, ob es am Sonntag geöffnet ist. Mit freundlichen Grüßen, "
        "Anton Weiß\n"
    ),
    "statutes.docx": "This was a document once, and is one no more.",
    ".draft.txt": "A draft that nobody was to see.\n",
}
ADDED = {
    "minutes/2023-02-meeting.txt": (
        "Minutes of the Orchard Society, February 2023.\n"
        "\n"
        "Oskar Vane left the Tillbury Bank. Oskar Vane joined the Orchard Society and promised a "
        "hedge for the Perrin Field.\n"
    ),
}
DEGREES = "select title, degree from graph.entities order by degree desc limit 20"


@dataclass(frozen=True)
class Step:
    """A command, and the exit code that it is to have."""

    arguments: tuple[str, ...]
    code: int


def step(*arguments: str, code: int = 0) -> Step:
    return Step(arguments, code)


def before_the_change(folder: str) -> tuple[Step, ...]:
    """What somebody does who reads the README from its beginning; the corpus is called orchard."""
    return (
        step("--version"),
        step("corpora"),
        step("init", "second"),
        step("init", "second", code=1),
        step("show", "orchard", code=1),
        step("ask", "orchard", "Who decided this?", code=1),
        step("doctor", code=1),
        step("doctor", folder),
        step("plan", folder),
        step("status", folder, code=6),
        step("index", folder),
        step("index", folder),
        step("status", folder),
        step("ask", "orchard", "Who are the most important people here?"),
        step("ask", "orchard", "What do these documents agree on?", "--level", "C1"),
        step("ask", "orchard", "Who decided to buy the Perrin Field?"),
        step("ask", "orchard", "What are the themes?", "--method", "dynamic", "--level", "C2"),
        step("ask", "orchard", "What are the themes?", "--method", "dynamic", "--level", "C0"),
        step("ask", "orchard", "What did Ida Brandt plant?", "--method", "basic"),
        step("ask", "orchard", "Who warned whom?", "--method", "drift"),
        step("ask", "orchard", "Who warned whom?", "--method", "TS", "--response-type", "single sentence"),
        step("ask", "orchard", "Quantum chromodynamics?", "--method", "SS"),
        step("ask", "orchard", "Who?", "--method", "magic", code=1),
        step("ask", "orchard", "What did Oskar Vane say?", "--method", "local", "--trace"),
        step("show", "orchard"),
        step("corpora"),
        step("sql", "orchard", DEGREES),
        step("sql", "orchard", "select titel from graph.entities", code=1),
        step("sql", "orchard", "select title from entities", code=1),
        step("why", "orchard", "entity", "Ida Brandt"),
        step("why", "orchard", "entity", "Ida Brand", code=1),
        step("why", "orchard", "report", "0"),
        step("impact", "orchard", "letter.md"),
        step("impact", "orchard", "leter.md", code=1),
        step("snapshots", "orchard"),
        step("report", "orchard", code=1),
    )


def after_the_change(folder: str, out: str) -> tuple[Step, ...]:
    """What comes once a document was added, up to the deletion of everything."""
    return (
        step("status", folder, code=6),
        step("plan", "orchard"),
        step("index", "orchard"),
        step("snapshots", "orchard"),
        step("rollback", "orchard"),
        step("index", "orchard"),
        step("evaluate", "orchard", "--plan"),
        step("evaluate", "orchard", "--sample", "2", "--yes"),
        step("answer", "orchard", "--yes"),
        step("report", "orchard", "--out", out),
        step("why", "orchard", "claim", "0", code=1),
        step("cache", "stats"),
        step("batches"),
        step("delete", "orchard", code=1),
        step("delete", "orchard", "--yes"),
        step("show", "orchard", code=1),
        step("purge", "second"),
        step("purge", "orchad", code=1),
        step("corpora"),
    )


def write(folder: Path, documents: dict[str, str]) -> None:
    for name, text in documents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def ran(one: Step, environment: dict[str, str]) -> str | None:
    """Run a command and print what it wrote; returns what is wrong with how it ended."""
    begun = time.monotonic()
    done = subprocess.run(
        [str(PROGRAM), *one.arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    shown = shlex.join(one.arguments)
    print(f"\n$ graphrag-dagster {shown}\n{done.returncode} after {time.monotonic() - begun:.1f} s")
    for stream, text in (("err", done.stderr), ("out", done.stdout)):
        for line in text.splitlines():
            print(f"  {stream}| {line}")
    sys.stdout.flush()
    if "Traceback" in done.stdout + done.stderr:
        return f"{shown}: a traceback"
    return (
        None if done.returncode == one.code else f"{shown}: exit code {done.returncode}, expected {one.code}"
    )


@contextmanager
def settings(way: str, folder: Path) -> Iterator[None]:
    """The folder's settings, and the endpoint that they name while it is needed."""
    if way == "plain":
        yield
        return
    with ScriptedEndpoint() as endpoint:
        write(folder, {"corpus.yaml": SETTINGS.format(url=endpoint.url)})
        yield


def used(way: str) -> list[str]:
    """Run all commands in one way; returns what went wrong."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GRAPHRAG", "OPENAI", "DAGSTER"))}
    with tempfile.TemporaryDirectory() as place:
        folder, home, out = (Path(place) / name for name in ("papers/orchard", "home", "report.html"))
        environment = {
            **kept,
            "GRAPHRAG_DAGSTER_HOME": str(home),
            "DAGSTER_HOME": str(home / ".dagster_home"),
            "PYTHONPATH": str(ROOT),
            "COLUMNS": "80",
        }
        write(folder, DOCUMENTS)
        wrong = []
        with settings(way, folder):
            commands = (before_the_change(str(folder)), after_the_change(str(folder), str(out)))
            for steps, change in zip(commands, (ADDED, {}), strict=True):
                wrong += [ran(one, environment) for one in steps]
                write(folder, change)
    return [f"{way}: {problem}" for problem in wrong if problem]


def main() -> int:
    """Run the ways one after the other; 1 where something ended otherwise than expected."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ways", nargs="*", help=", ".join(WAYS))
    wrong = []
    for way in parser.parse_args().ways or WAYS:
        print(f"\n## {way}")
        wrong += used(way)
    print("\n" + ("\n".join(wrong) if wrong else "every command ended as expected"))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
