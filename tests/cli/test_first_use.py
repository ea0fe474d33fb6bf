"""Two commands that begin on an empty home at the same moment: both work."""

import os
import subprocess
import sys
import time
from pathlib import Path

FIRST = """
import sys, time
from pathlib import Path
import graphrag_dagster.cli as cli
from graphrag_dagster.resources.dagster_instance import instance

start = Path(sys.argv[1])
Path(f"{start}.{sys.argv[2]}").touch()
while not start.exists():
    time.sleep(0.001)
with instance() as opened:
    opened.add_dynamic_partitions("corpus", [f"c{sys.argv[2]}"])
    assert opened.has_dynamic_partition("corpus", f"c{sys.argv[2]}")
sys.argv = ["graphrag-dagster", "plan", sys.argv[3]]
cli.main()
"""


def test_two_first_uses_of_a_home_at_once_both_work(home: Path, tmp_path: Path) -> None:
    (home / "corpora").rmdir()
    start, env = tmp_path / "start", {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    begun = []
    for number in range(2):
        folder = tmp_path / f"c{number}"
        folder.mkdir()
        (folder / "a.txt").write_text("Arthur Penn visited Dover.", encoding="utf-8")
        given = [sys.executable, "-c", FIRST, str(start), str(number), str(folder)]
        begun.append(
            subprocess.Popen(given, env=env, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        )
    while len(list(tmp_path.glob("start.*"))) < 2 and all(one.poll() is None for one in begun):
        time.sleep(0.01)
    start.touch()
    said = [one.communicate(timeout=100) for one in begun]
    assert [err for _, err in said] == [b"", b""]
    assert [one.returncode for one in begun] == [0, 0]
    assert sorted(one.name for one in (home / "corpora").iterdir()) == ["c0.path", "c1.path"]
