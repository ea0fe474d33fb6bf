"""What it takes to catch up with a changed corpus.

    python benchmarks/living.py [harbour|podcast]

A corpus without a tenth of its documents is indexed through a scripted endpoint that answers after half a
second (``tests/support/serve.py``), then the tenth is added, a document removed, a sentence edited. Each step
is told beside a cold rebuild of the same documents with an empty memory. A report stayed where its text did,
but for the numbers of what it cites: they are those of rows, and a new row shifts them.
"""

import argparse
import re
import shutil
import tempfile
from pathlib import Path

from homes import Step, documents, index, plain_texts, settings

from support.serve import ServedEndpoint


def of_middling_size(files: list[Path]) -> list[Path]:
    """Two plain texts of a size that is common in the corpus."""
    texts = sorted(plain_texts(files), key=lambda path: (path.stat().st_size, path))
    middle = len(texts) // 2
    return texts[middle : middle + 2]


def told(what: str, before: Step, now: Step, cold: Step) -> None:
    new = len(now.units - before.units) / len(now.units)
    stayed = sum(before.reports.get(key) == text for key, text in now.reports.items())
    known = sum(key in before.reports for key in now.reports)
    print(f"\n{what}: {len(now.units):,} text units, {new:.1%} of them new")
    print(f"  extraction calls {now.extraction:,} against {cold.extraction:,} cold: ", end="")
    share = now.extraction / max(cold.extraction, 1)
    print(f"{share:.1%}" + (f" = {share / new:.2f} x the share of new units" if new else ""))
    print(f"  reports written {now.written:,} of {len(now.reports):,} ({now.written / len(now.reports):.1%})")
    print(f"  communities whose id stayed {known / len(now.reports):.1%}, ", end="")
    print(f"whose id and report stayed {stayed / len(now.reports):.1%}")
    differing = [table for table, rows in now.tables.items() if cold.tables[table] != rows]
    print(
        f"  {len(now.tables) - len(differing)} of {len(now.tables)} tables equal the cold rebuild's; not ",
        end="",
    )
    print(f"{', '.join(differing) or 'one differs'}; modularity {now.modularity / cold.modularity:.4f} of it")
    print(f"  calls in all {sum(now.calls.values()):,} against {sum(cold.calls.values()):,}; ", end="")
    print(f"seconds {now.seconds:.1f} against {cold.seconds:.1f}", flush=True)


def catch_up(kind: str) -> None:
    with tempfile.TemporaryDirectory() as scratch, ServedEndpoint(seconds=0.5, script="wordy") as server:
        home = Path(scratch) / "warm"
        folder = home / "corpora" / "living"
        files = documents(kind, folder)
        settings(folder, server.url)
        aside = Path(scratch) / "aside"
        aside.mkdir()
        added = files[::10]
        for number, path in enumerate(added):
            shutil.move(path, aside / str(number))

        def cold(number: int) -> Step:
            other = Path(scratch) / f"cold{number}"
            shutil.copytree(folder, other / "corpora" / "living")
            return index(other, "living", server)

        base = index(home, "living", server)
        print(f"{kind}: {len(files) - len(added)} files, {len(base.units):,} text units, ", end="")
        print(f"{sum(base.calls.values()):,} calls, {base.seconds:.1f} s; {len(added)} files are added")
        for number, path in enumerate(added):
            shutil.move(aside / str(number), path)
        more = index(home, "living", server)
        told("+10 % documents", base, more, cold(1))
        again = index(home, "living", server)
        whole = index(home, "living", server, "--again")
        print(f"\nunchanged: {sum(again.calls.values())} calls, {again.seconds:.1f} s; ", end="")
        print(f"run all the same: {sum(whole.calls.values())} calls, {whole.seconds:.1f} s")
        gone, edited = of_middling_size(files)
        gone.unlink()
        fewer = index(home, "living", server)
        told("-1 document", again, fewer, cold(2))
        text = edited.read_text(encoding="utf-8")
        ends = [match.end() for match in re.finditer(r"\. ", text)]
        place = ends[len(ends) // 2]
        edited.write_text(
            text[:place] + "Nobody had expected Wendeline Sarro. " + text[place:], encoding="utf-8"
        )
        told("one sentence more", fewer, index(home, "living", server), cold(3))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", nargs="?", choices=("harbour", "podcast"), default="harbour")
    catch_up(parser.parse_args().corpus)


if __name__ == "__main__":
    main()
