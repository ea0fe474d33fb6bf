"""Whether this state and an earlier one make the same tables, byte for byte, of three corpora.

    python benchmarks/same_tables.py COMMIT [--transcripts 420]

The sample corpus without a model; transcripts of the Podcast corpus without a model, where it lies beside the
checkout; 200 passages with the scripted endpoint: from nothing, after one sentence more, after 40 passages
more. Names each table of which the rows differ. Tables of states, and the fingerprints of
``written_reports``, hold hashes of code, and differ wherever any of it does.
"""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import endpoint
from index import DEFAULT

HERE = Path(__file__).parents[1]
CALLED = "import sys; from graphrag_dagster.cli import main; sys.argv[0] = 'graphrag-dagster'; main()"
SENTENCE = ". It was seen by many in 1921"
Tables = dict[str, str]


def indexed(sources: Path, home: Path, corpus: str) -> Tables:
    """Index a corpus with the code of a checkout; gives a hash of the rows of each table."""
    env = {**os.environ, "GRAPHRAG_DAGSTER_HOME": str(home), "DAGSTER_HOME": str(home / ".dagster_home")}
    command = [sys.executable, "-c", CALLED, "index", corpus, "--json"]
    env["PYTHONPATH"] = str(sources)
    subprocess.run(command, cwd=home, env=env, check=True, capture_output=True)
    told = subprocess.run(
        [sys.executable, "-c", endpoint.TABLES, home / "warehouse" / f"{corpus}.duckdb"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return dict(line.split() for line in told.splitlines())


def made_by(sources: Path, transcripts: int) -> Iterator[tuple[str, Tables]]:
    """Yield what a checkout makes of each corpus, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        shutil.copytree(HERE / "graphrag_dagster" / "sample" / "harbour", home / "corpora" / "harbour")
        yield "sample", indexed(sources, home, "harbour")
        if DEFAULT.is_file():
            with zipfile.ZipFile(DEFAULT) as archive:
                archive.extractall(home / "corpora" / "podcast", sorted(archive.namelist())[:transcripts])
            yield f"podcast, {transcripts} transcripts", indexed(sources, home, "podcast")
    with tempfile.TemporaryDirectory() as folder, endpoint.served() as model:
        home = Path(folder)
        endpoint.corpus(home, 10)
        endpoint.settings(home, model.url, concurrency=16)
        yield "endpoint, from nothing", indexed(sources, home, "bench")
        edited = home / "corpora" / "bench" / "part07.txt"
        text = edited.read_text(encoding="utf-8")
        place = text.index(". ", 2000)
        edited.write_text(text[:place] + SENTENCE + text[place:], encoding="utf-8")
        yield "endpoint, one sentence more", indexed(sources, home, "bench")
        endpoint.corpus(home, 12, first=10)
        yield "endpoint, 40 passages more", indexed(sources, home, "bench")


@contextlib.contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """A checkout of a commit beside this one."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "earlier"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", place, commit], cwd=HERE, check=True)
        try:
            yield place
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", place], cwd=HERE, check=True)


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit")
    parser.add_argument("--transcripts", type=int, default=420)
    given = parser.parse_args()
    # Times are of no matter here.
    endpoint.SECONDS, endpoint.SECONDS_PER_TOKEN = 0.02, 0.0001
    with checked_out(given.commit) as earlier:
        both = zip(made_by(earlier, given.transcripts), made_by(HERE, given.transcripts), strict=True)
        for (corpus, then), (_, now) in both:
            differ = [name for name in sorted(then | now) if then.get(name) != now.get(name)]
            print(f"{corpus}: {len(now)} tables, differing: {', '.join(differ) or 'none'}", flush=True)


if __name__ == "__main__":
    main()
