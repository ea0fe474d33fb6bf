"""Glob patterns that many wildcards make slow: ours beside pathspec's and wcmatch's, on one path each.

pathspec comes with the development group; wcmatch is measured where it is installed (pip install wcmatch).

Run: python benchmarks/patterns.py
"""

import subprocess
import sys
import time

from graphrag_dagster.kernel.common.file_discovery import matches

LIMIT = 20
HOSTILE = {
    "*a*a*a*a*a*a*a*a*a*b": "a" * 200,
    "/**a**a**a**a**a**a**b": "a" * 2000,
    "**/a/**/a/**/a/**/a/**/b": "/".join("a" * 200),
    "**/*/" * 50 + "b": "/".join("a" * 2000),
}
OTHERS = {
    "pathspec": "from pathspec import PathSpec; PathSpec.from_lines('gitignore', [pattern]).match_file(path)",
    "wcmatch": "from wcmatch.glob import globmatch, GLOBSTAR; globmatch(path, pattern, flags=GLOBSTAR)",
}


def seconds(code: str, pattern: str, path: str) -> str:
    """In a process of its own: a regular expression cannot be interrupted otherwise."""
    timed = f"begin = time.time(); {code}; print(time.time() - begin)"
    program = f"import sys, time; pattern, path = sys.argv[1:]; {timed}"
    try:
        done = subprocess.run(
            [sys.executable, "-c", program, pattern, path],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"> {LIMIT} s"
    return f"{float(done.stdout):.3f} s" if not done.returncode else done.stderr.strip().splitlines()[-1]


def main() -> None:
    for pattern, path in HOSTILE.items():
        begin = time.perf_counter()
        matches(path, pattern)
        told = {"ours": f"{time.perf_counter() - begin:.3f} s"}
        told |= {name: seconds(code, pattern, path) for name, code in OTHERS.items()}
        print(
            f"{pattern[:24]} over {len(path):,} characters:", ", ".join(f"{a} {b}" for a, b in told.items())
        )


if __name__ == "__main__":
    main()
