"""``graphrag-dagster demo``: works without a checkout, and overwrites nothing."""

from pathlib import Path

import pytest

from graphrag_dagster.cli.commands.demo_commands import write_sample
from graphrag_dagster.errors import CorpusError
from graphrag_dagster.sample import HARBOUR
from support.commands import Run
from support.homes import copy_home


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_the_sample_is_written_once_and_keeps_what_was_changed(tmp_path: Path, capsys) -> None:
    folder = tmp_path / "new" / "harbour"
    write_sample(folder)
    assert files(folder) == files(HARBOUR)
    assert capsys.readouterr().out.startswith(f"wrote {len(files(HARBOUR))} files of the sample corpus into")
    write_sample(folder)
    assert capsys.readouterr().out == ""
    (folder / "council" / "decisions.json").write_text("[]")
    (folder / "mine.txt").write_text("Mine.")
    (folder / "corpus.yaml").unlink()
    write_sample(folder)
    assert "1 file differs from the sample" in capsys.readouterr().out
    assert files(folder) == files(HARBOUR) | {"council/decisions.json": b"[]", "mine.txt": b"Mine."}


def test_another_folder_stays_as_it_is(tmp_path: Path, run: Run, home: Path) -> None:
    other = home / "corpora" / "harbour"
    other.mkdir()
    (other / "corpus.yaml").write_text("engine: llm\n")
    code, out, err = run("demo")
    assert (code, out) == (1, "")
    assert "holds something else than the sample corpus" in err
    assert "--folder" in err
    assert files(other) == {"corpus.yaml": b"engine: llm\n"}
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(CorpusError, match="is a file"):
        write_sample(file)


def test_a_rerun_answers_and_says_what_to_do_next(harbour_home: Path, home: Path, run: Run) -> None:
    copy_home(harbour_home, home)
    code, out, err = run("demo")
    assert code == 0, err
    assert "harbour: up to date since " in out
    assert out.count("$ graphrag-dagster ask harbour ") == 3
    assert out.count("\n[1] ") == 3
    told = out[out.index("What to do next") :].splitlines()
    assert [line.split(' "')[0] for line in told[2:5]] == ["  graphrag-dagster ask harbour"] * 3
    assert "  http://127.0.0.1:8000/#/harbour" in told
    assert "  graphrag-dagster explore harbour" in told
    assert f"Query the tables, which are in {home / 'warehouse' / 'harbour.duckdb'}:" in told
    assert "  graphrag-dagster index path/to/folder" in told


@pytest.mark.long
def test_the_demo_works_in_a_folder_of_ones_own(home: Path, tmp_path: Path, run: Run) -> None:
    code, out, err = run("demo", "--folder", str(tmp_path / "tour"))
    assert code == 0, err
    assert "$ graphrag-dagster ask tour " in out
    assert (home / "corpora" / "tour.path").read_text().strip() == str(tmp_path / "tour")
