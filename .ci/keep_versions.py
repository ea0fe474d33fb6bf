"""Keep the code versions of an earlier commit where the code has changed and its results have not.

    PYTHONPATH=tests:.ci python .ci/keep_versions.py COMMIT [--changed NAME …] [--earlier NAME=VERSION …]

An index that the earlier commit made is then not outdated by this one. Both commits index and evaluate the
sample corpus without a model; what differs is not kept, nor is anything else that the same function makes.
What the sample does not show is your word: name with --changed, as `schema/table`, what a model makes
differently. What the earlier commit does not tell of by itself has its version in --earlier.

Writes graphrag_dagster/orchestration/code_versions/kept.json, and says what is not kept. To be run after the
last change of the code: any later one gives what it concerns a version of its own again.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from same_bytes import CORPUS, ROOT, differences, index

import graphrag_dagster.assets  # noqa: F401  # Having been declared, each asset is a subject.
from graphrag_dagster.assets.evaluating.answers import options_code
from graphrag_dagster.assets.evaluating.paths import path_options_code
from graphrag_dagster.orchestration.code_versions.versions import KEPT, Kept, Subject, subjects

COMMANDS = (("index", CORPUS), ("evaluate", CORPUS))
TOLD = """
import json
from graphrag_dagster.assets import ASSETS
told = {"/".join(s.key.path): s.code_version for a in ASSETS for s in a.specs if s.code_version}
try:
    from graphrag_dagster.assets.evaluating.answers import options_code
    told["answers/options"] = options_code()
except ImportError:
    pass
try:
    from graphrag_dagster.assets.evaluating.paths import path_options_code
    told["paths/options"] = path_options_code()
except ImportError:
    pass
print(json.dumps(told))
"""


def versions_of(sources: Path) -> dict[str, str]:
    """The code versions of a checkout, by name."""
    told = subprocess.run(
        [sys.executable, "-c", TOLD], cwd=sources, env=_environment(sources), check=True, capture_output=True
    )
    versions: dict[str, str] = json.loads(told.stdout.splitlines()[-1])
    return versions


def _environment(sources: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(sources)}


def kept(earlier: Mapping[str, str], now: Mapping[str, Subject], changed: set[str]) -> Kept:
    """What is kept where everything is, but for what has changed and what the same function makes."""
    roots = {now[name].roots for name in changed if name in now}
    pairs = {
        name: (subject.code, earlier[name])
        for name, subject in now.items()
        if name in earlier and subject.roots not in roots and earlier[name] != subject.code
    }
    libraries = {one: held for name in pairs for one, held in now[name].libraries.items()}
    return Kept(libraries, pairs)


def main() -> int:
    """Compare, write what is kept, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit")
    parser.add_argument("--changed", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--earlier", nargs="*", default=[], metavar="NAME=VERSION")
    given = parser.parse_args()
    options_code()
    path_options_code()
    now, changed = subjects(), set(given.changed)
    with tempfile.TemporaryDirectory() as folder:
        before, homes = Path(folder, "before"), (Path(folder, "one"), Path(folder, "other"))
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(before), given.commit], check=True)
        try:
            earlier = versions_of(before) | dict(one.split("=", 1) for one in given.earlier)
            # Tables name the versions, so that these have to be kept before tables are compared.
            KEPT.write_text(kept(earlier, now, changed).text(), encoding="utf-8")
            for sources, home in zip((before, ROOT), homes, strict=True):
                index(sys.executable, home, sources, COMMANDS)
        finally:
            subprocess.run([*git, "remove", "--force", str(before)], check=True)
        count, differing = differences(*homes, without=("studies",))
    # The others are made by queries, whose text is their version.
    differing = {key: told for name, told in differing.items() if (key := name.replace(".", "/")) in now}
    changed |= differing.keys()
    made = kept(earlier, now, changed)
    KEPT.write_text(made.text(), encoding="utf-8")
    print(*differing.values(), sep="\n", end="\n" if differing else "")
    print("not kept:", ", ".join(sorted(now.keys() - made.versions.keys())) or "nothing")
    same = f"{count - len(differing)} of {count} tables are the same"
    print(f"keep versions: {len(made.versions)} of {given.commit}; {same}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
