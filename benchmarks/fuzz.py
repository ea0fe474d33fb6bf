"""Hostile inputs by the thousand, seeded: no traceback, hang, flood of memory or write outside the home.

    python benchmarks/fuzz.py [SUBJECT …] [--count N] [--seed 1]

Without a count every subject gets its own full number. What the suite runs of each is a small part of this.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from fuzz import asking, bombs, documents, envelopes, settings
from fuzz.harness import Subject, assail

#: Subject → how many cases of it make a full run.
SUBJECTS: list[tuple[Subject, int]] = [
    (settings.SUBJECT, 2_500),
    (asking.SUBJECT, 1_200),
    (envelopes.SUBJECT, 1_500),
    (documents.SUBJECT, 5_000),
    (bombs.SUBJECT, len(bombs.BOMBS)),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("subject", nargs="*", help="default: all")
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    defects = 0
    for subject, full in SUBJECTS:
        if given.subject and subject.name not in given.subject:
            continue
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            tally = assail(subject, seed=given.seed, count=given.count or full, folder=Path(folder))
        print(tally, flush=True)
        for defect in tally.defects[:20]:
            print(f"  {defect.kind}: {defect.label}: {defect.told}", flush=True)
        defects += len(tally.defects)
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
