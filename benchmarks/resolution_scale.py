"""Measures entity resolution on large made-up corpora: seconds, memory, and how both grow.

    python benchmarks/resolution_scale.py [ENTITIES ...]

Each size runs in a process of its own. A document names 20 entities twice; a fifth of the names stand in
several documents, a tenth are other spellings or short forms of one beside them. Each size is measured again
with a document more, where what was compared before is known. Garbage is collected as in a command;
processors and memory are those of all processes, which are looked at twice a second.
"""

import argparse
import os
import random
import subprocess
import sys
import threading
import time
from contextlib import suppress

import polars as pl

from graphrag_dagster.kernel.pipeline.garbage_collection import (
    defer_collection,
    share_malloc_arena,
)
from graphrag_dagster.kernel.text.text_similarity import normalise
from graphrag_dagster.systems.graphrag.resolution.human_decisions import Decisions
from graphrag_dagster.systems.graphrag.resolution.name_pairs import Earlier
from graphrag_dagster.systems.graphrag.resolution.resolution_tables import ResolutionFrames, resolve_corpus

SIZES = (10_000, 100_000, 1_000_000)
PER_DOCUMENT, TIMES = 20, 2
LOOKS = 0.5
SYLLABLES = "ka ro mi ten ba lo fer ni sha gu vel dor pin ost ar el"
KINDS = {
    "PERSON": ("{a} {b}", "{a} {c} {b}"),
    "ORGANIZATION": ("{a} {b} Ltd", "{a} {b} Institute", "University of {a}"),
    "GEO": ("{a}", "Port {a}", "North {a}"),
    "PRODUCT": ("{a} {n}", "{a}-{n}"),
}


def names(count: int) -> list[tuple[str, str]]:
    """Return names with types; words recur, as they do in a language."""
    chance = random.Random(16)
    words = [
        "".join(chance.choices(SYLLABLES.split(), k=chance.randint(2, 4))).capitalize()
        for _ in range(max(count // 10, 100))
    ]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    found: dict[tuple[str, str], None] = {}
    while len(found) < count:
        drawn = iter(chance.choices(words, weights, k=30_000))
        for a, b, c in zip(drawn, drawn, drawn, strict=True):
            kind = chance.choice(list(KINDS))
            name = chance.choice(KINDS[kind]).format(a=a, b=b, c=c, n=chance.randint(1, 900))
            found[name, kind] = None
    return list(found)[:count]


def corpus(count: int) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return instances, text units and documents."""
    chance = random.Random(17)
    known = names(count)
    columns = {name: [] for name in ("text_unit_id", "name", "surface", "type", "start", "end")}
    units, documents = [], []
    for number, at in enumerate(range(0, count, PER_DOCUMENT)):
        own = known[at : at + PER_DOCUMENT]
        own += [known[chance.randrange(count)] for _ in range(PER_DOCUMENT // 5)]
        own += [(name.split()[-1], kind) for name, kind in own[: PER_DOCUMENT // 10] if kind == "PERSON"]
        document, text = f"{number:032x}", ""
        for name, kind in own * TIMES:
            row = (document, normalise(name), name, kind, len(text), len(text) + len(name))
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
            text += f"{name} was there. "
        units.append((document, document, number, 0, text))
        documents.append((document, f"Document {number}", f"{number}.txt", text))
    gleaned = (
        pl.DataFrame(columns)
        .with_columns(spans=pl.concat_list(pl.struct("start", "end")), round=0)
        .with_columns(position=pl.int_range(pl.len()).over("text_unit_id"))
        .drop("start", "end")
    )
    chunks = pl.DataFrame(
        units, schema=["text_unit_id", "document_id", "human_readable_id", "start_char", "text"], orient="row"
    )
    return (
        gleaned,
        chunks,
        pl.DataFrame(documents, schema=["document_id", "title", "path", "text"], orient="row"),
    )


def timed(*frames: pl.DataFrame, earlier: Earlier | None = None) -> tuple[ResolutionFrames, str]:
    """Resolve, and return what it took: seconds by the clock and of processors, and the peak of memory."""
    done, looks = threading.Event(), list[float]()
    watch = threading.Thread(target=look_on, args=(done, looks))
    watch.start()
    began, used = time.perf_counter(), processor_seconds()
    made = resolve_corpus(*frames, Decisions(), earlier=earlier)
    clock, used = time.perf_counter() - began, processor_seconds() - used
    done.set()
    watch.join()
    return (
        made,
        f"{clock:.1f} s, {used:.1f} of processors, peak {max(looks):,.0f} MB ({looks[0]:,.0f} before)",
    )


def processor_seconds() -> float:
    """Return what this process and its children that have ended took of processors so far."""
    own = os.times()
    return own.user + own.system + own.children_user + own.children_system


def look_on(done: threading.Event, looks: list[float]) -> None:
    """Note the megabytes of this process with its children, now and until it is done."""
    # Processes that compare names import this file, but need no more of it.
    from growth import look

    while True:
        with suppress(OSError):
            looks.append(look(os.getpid(), {}).megabytes)
        if done.wait(LOOKS):
            return


def measure(count: int) -> None:
    """Resolve a corpus of so many entities, and then with a document more, and print."""
    defer_collection()
    gleaned, chunks, documents = corpus(count)
    last = documents["document_id"][-1]
    before = (gleaned.filter(pl.col("text_unit_id") != last), chunks[:-1], documents[:-1])
    made, took = timed(*before)
    print(
        f"{count:>9,} names, {gleaned.height:,} mentions, {documents.height:,} documents: {took}; "
        f"{made.candidates.height:,} pairs, "
        f"{made.left_out:,} left out, {made.aliases['entity'].n_unique():,} entities",
        flush=True,
    )
    again, took = timed(gleaned, chunks, documents, earlier=Earlier(made.candidates, made.aliases))
    print(
        f"    with a document more: {took}; {again.reused:,} of "
        f"{again.candidates.height:,} pairs not compared again",
        flush=True,
    )


def main() -> None:
    """Measure each size in a fresh process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("entities", nargs="*", type=int, default=SIZES)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    # As commands do; the processes that are started take it over.
    share_malloc_arena()
    for count in wanted.entities:
        if wanted.here:
            measure(count)
        else:
            subprocess.run([sys.executable, __file__, str(count), "--here"], check=True)


if __name__ == "__main__":
    main()
