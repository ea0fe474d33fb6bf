"""Decisions made and taken back: what is written, what is refused, and what a person is told."""

import getpass
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from filelock import FileLock

from graphrag_dagster.apps.decisions.entity_names import entities, entity, questions
from graphrag_dagster.apps.decisions.name_decisions import decisions, merge, split, undo
from graphrag_dagster.errors import CorpusError, QuestionError, SettingsError
from graphrag_dagster.kernel.common.file_discovery import DECISIONS_FILE, DECISIONS_LOCK, discover
from graphrag_dagster.kernel.settings.corpus_settings import load_settings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.graphrag.resolution.settings import Decision, edit_decisions
from support.commands import Run
from support.named import Texts, write_tables

TEXTS: Texts = {
    "minutes/one.txt": [("Bethia Mouat", "PERSON"), ("Mouat", "PERSON"), ("Agnes Mouat", "PERSON")],
    "two.txt": [("Mouat", "PERSON"), ("Agnes Smith", "PERSON"), ("Мурманск", "GEO"), ("7", "NUMBER")],
    "t.csv#1": [("Ann Lee", "PERSON"), ("Bo Kay", "PERSON")],
    "t.csv#2": [("Ann Lee", "PERSON"), ('O\'Neil "Big" Kay', "PERSON")],
    "odd/-x y.txt": [("-v", "PERSON"), ("[bold]Cy[/]", "PERSON"), ("李", "PERSON")],
}


@pytest.fixture
def town(home: Path) -> Path:
    """The folder of the corpus ``town``; its tables are those of ``TEXTS``."""
    folder = home / "corpora" / "town"
    folder.mkdir()
    write_tables(Warehouse(), "town", TEXTS)
    return folder


def rows(folder: Path) -> list[dict[str, object]]:
    file = folder / DECISIONS_FILE
    return (
        [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    )


def again(folder: Path) -> None:
    """What an index does: the tables are made with what was decided."""
    write_tables(Warehouse(), folder.name, TEXTS, load_settings(folder).resolution.decisions())


def test_a_decision_is_a_line_that_settings_hold(town: Path) -> None:
    made = merge("town", ["bethia mouat", "Agnes  Smith"], who="Anna", document=None)
    (row,) = rows(town)
    assert (row["names"], row["verdict"], row["who"]) == (["bethia mouat", "Agnes Smith"], "same", "Anna")
    assert str(row["when"]).endswith("+00:00")
    assert (made.written, made.said.id) == (True, row["id"])
    assert [(one.title, one.names) for one in made.concerned] == [
        ("Agnes Smith", ("Agnes Smith",)),
        ("Bethia Mouat", ("bethia mouat",)),
    ]
    (said,) = CorpusStore().settings("town").resolution.same
    assert (said.id, said.who) == (row["id"], "Anna")
    assert split("town", ["Ann Lee", "Bo Kay"]).said.word.who == getpass.getuser()
    undo("town")
    undo("town", str(row["id"])[:5])
    assert not (town / DECISIONS_FILE).exists()
    # The same decision has the same id, whoever makes it.
    assert merge("town", ["Agnes Smith", "Bethia Mouat"], who="Bo").said.id == row["id"]


def test_what_was_decided_is_not_written_again(town: Path) -> None:
    first = merge("town", ["Bethia Mouat", "Agnes Smith", "Ann Lee"])
    before = (town / DECISIONS_FILE).read_bytes()
    for names, document in (
        (["ANN LEE", "agnes smith"], None),
        (["Bethia Mouat", "Agnes Mouat"], "minutes/one.txt"),
    ):
        if document:
            merge("town", names)
            before = (town / DECISIONS_FILE).read_bytes()
        again_ = merge("town", names, document=document)
        assert not again_.written
        assert (town / DECISIONS_FILE).read_bytes() == before
    assert merge("town", ["Ann Lee", "Agnes Smith"]).said == first.said


def test_decisions_of_corpus_yaml_are_told_and_taken_back_there(town: Path, run: Run) -> None:
    (town / "corpus.yaml").write_text(
        "resolution:\n  same:\n    - [Bethia Mouat, Agnes Smith]\n    - {names: [Ann Lee, Bo Kay], who: Eva}\n",
        encoding="utf-8",
    )
    assert [(one.id, one.file) for one in decisions("town")] == [
        ("same-1", "corpus.yaml"),
        ("same-2", "corpus.yaml"),
    ]
    assert not merge("town", ["Agnes Smith", "Bethia Mouat"]).written
    with pytest.raises(QuestionError, match=r"same-1 stands in .*corpus\.yaml, which is written by hand"):
        undo("town", "same-1")
    with pytest.raises(
        QuestionError, match=r"no decision was made by command in 'town'; 2 stand in .*corpus\.yaml"
    ):
        undo("town")
    code, out, _ = run("undo", "town", "--list", "--json")
    assert (code, [one["who"] for one in json.loads(out)["decisions"]]) == (0, [None, "Eva"])
    assert "'Ann Lee', 'Bo Kay' are one entity" in run("undo", "town", "--list")[1]


def test_contradictions_name_the_names_and_the_way(town: Path, run: Run) -> None:
    (town / "corpus.yaml").write_text(
        "resolution:\n  same:\n    - [Bethia Mouat, Agnes Smith]\n", encoding="utf-8"
    )
    merge("town", ["Agnes Smith", "Ann Lee"])
    kept = (town / DECISIONS_FILE).read_bytes()
    code, out, err = run("split", "town", "ann lee", "Bethia Mouat")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert (
        "'ANN LEE' and 'BETHIA MOUAT' are declared different, and also the same by way of 'AGNES SMITH'"
        in err
    )
    assert "undo town --list" in err
    assert (town / DECISIONS_FILE).read_bytes() == kept
    # Within one document the same holds.
    with pytest.raises(SettingsError, match="declared different"):
        split("town", ["Bethia Mouat", "Agnes Mouat", "Mouat"], document="minutes/one.txt") and merge(
            "town", ["Mouat", "Agnes Mouat"]
        )
    undo("town")
    # A contradiction that was written by hand can be taken back by command.
    (town / "corpus.yaml").write_text(
        "resolution:\n  different:\n    - [Agnes Smith, Ann Lee]\n", encoding="utf-8"
    )
    code, _, err = run("status", "town")
    assert (code, DECISIONS_FILE in err, "undo one of the two decisions" in err) == (1, True, True)
    assert run("undo", "town", "--list")[0] == run("undo", "town")[0] == 0
    load_settings(town)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["Bethia Mouat"], "two different names"),
        (["Bethia Mouat", "BETHIA  mouat"], "two different names"),
        (["Bethia Mouat", "\x1b\x07"], "none of them empty|at least 1 character"),
        (["Bethia Mouat", "x" * 1001], "at most 1000 characters"),
        (["Bethia Mouat", "Bethia Moua"], r"no name 'Bethia Moua'; did you mean 'Bethia Mouat' \(PERSON\)"),
        (["Bethia Mouat", "8"], "no name '8', nor one that is called alike"),
        (["Bethia Mouat", "\udc80\udcff"], "at least 1 character|none of them empty"),
    ],
)  # fmt: skip
def test_names_that_cannot_be_decided_on_are_refused(town: Path, names: list[str], told: str) -> None:
    with pytest.raises((SettingsError, QuestionError), match=told):
        merge("town", names)
    assert not (town / DECISIONS_FILE).exists()


@pytest.mark.parametrize(
    "names",
    [
        ["мурманск", "7"],
        ["李", "-v"],
        ['O\'Neil "Big" Kay', "Ann Lee"],
        ["[bold]cy[/]", "Ann Lee"],
        ["Ann\x00 L\x1bee", "Bo Kay"],
    ],
)
def test_names_of_every_kind_are_decided_on(town: Path, run: Run, names: list[str]) -> None:
    code, out, err = run("merge", "town", "--", *names)
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    (row,) = rows(town)
    assert all(str(name).isprintable() for name in row["names"])  # type: ignore[attr-defined]
    again(town)
    (title,) = {one["title"] for one in entities(Warehouse(), "town").to_dicts() if len(one["names"]) > 1}
    assert "one: " in run("entities", "town", "--", title)[1]
    assert run("undo", "town")[0] == 0


@pytest.mark.parametrize(
    ("document", "kept"),
    [
        ("minutes/one.txt", "minutes/one.txt"),
        ("d-minutes/one.txt", "minutes/one.txt"),
        ("t.csv", "t.csv"),
        ("d-t.csv#1", "d-t.csv#1"),
    ],
)
def test_a_document_is_named_by_path_or_id(town: Path, document: str, kept: str) -> None:
    names = ["Bethia Mouat", "Agnes Mouat"] if "one" in document else ["Ann Lee", "Bo Kay"]
    assert merge("town", names, document=document).said.word.document == kept
    again(town)
    named = entities(Warehouse(), "town").filter(pl.col("names").list.len() > 1)["names"].to_list()
    assert any(set(names) <= set(one) for one in named)


@pytest.mark.parametrize("document", ["../town/two.txt", "/etc/passwd", "gone.txt", "", "minutes"])
def test_a_document_that_is_not_there_is_refused(town: Path, document: str) -> None:
    with pytest.raises(QuestionError, match="no document"):
        merge("town", ["Bethia Mouat", "Agnes Mouat"], document=document)
    with pytest.raises(QuestionError, match=r"no name 'Agnes Smith'.* in minutes/one\.txt"):
        merge("town", ["Bethia Mouat", "Agnes Smith"], document="minutes/one.txt")
    assert not (town / DECISIONS_FILE).exists()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{", "line 2: the line: Invalid JSON"),
        (b"[1]", "line 2: "),
        (b'{"id": "a", "verdict": "maybe", "names": ["a", "b"]}', "line 2: verdict: "),
        (b'{"id": "a", "verdict": "same", "names": ["a"]}', "line 2: names: "),
        (b'{"id": "a", "verdict": "same", "names": ["a", " A"]}', "two different names"),
        (b'{"verdict": "same", "names": ["a", "b"]}', "line 2: id: "),
        (b'{"id": "one", "verdict": "same", "names": ["a", "b"]}', "line 1 has the same id 'one'"),
        (b'{"id": "a", "verdict": "same", "names": ["a", "b"], "x": 1}', "line 2: x: "),
        (b"\xff\xfe", "line 2: the line: "),
    ],
)  # fmt: skip
def test_a_broken_line_names_file_line_and_mend(town: Path, run: Run, line: bytes, told: str) -> None:
    file = town / DECISIONS_FILE
    file.write_bytes(b'{"id": "one", "verdict": "same", "names": ["Ann Lee", "Bo Kay"]}\n' + line + b"\n")
    before = file.read_bytes()
    for command in (("merge", "town", "Bethia Mouat", "Agnes Smith"), ("undo", "town"), ("status", "town")):
        code, _, err = run(*command)
        assert (code, "Traceback" in err, str(file) in err, told in err) == (1, False, True, True), err
        assert "remove" in err
    assert file.read_bytes() == before


@pytest.fixture
def guarded() -> Iterator[Path]:
    """The folder of a corpus with a decision, which cannot be written."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with edit_decisions(folder) as kept:
            kept.append(Decision(verdict="same", names=["Ann Lee", "Bo Kay"], id="one"))
        (folder / DECISIONS_LOCK).unlink()
        folder.chmod(0o555)
        # Permissions hold for no root.
        as_root = os.geteuid() == 0
        if as_root:
            os.seteuid(65534)
        try:
            yield folder
        finally:
            if as_root:
                os.seteuid(0)
            folder.chmod(0o755)


def test_a_folder_that_cannot_be_written_is_told(guarded: Path) -> None:
    before = (guarded / DECISIONS_FILE).read_bytes()
    with (
        pytest.raises(CorpusError, match=r"nothing was written: .*corpus\.yaml"),
        edit_decisions(guarded) as kept,
    ):
        kept.pop()
    assert (guarded / DECISIONS_FILE).read_bytes() == before


@pytest.mark.long
def test_two_writers_at_once_lose_nothing(town: Path, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom graphrag_dagster.apps.decisions.name_decisions import merge\n"
        "for place in range(5):\n    merge('town', ['Ann Lee', 'Bo Kay'], who=sys.argv[1], document=None)\n"
        "    merge('town', sys.argv[2:4], document=sys.argv[4 + place % 2])\n"
    )
    pairs = (
        ["Bethia Mouat", "Mouat", "minutes/one.txt", "minutes/one.txt"],
        ["Mouat", "Agnes Smith", "two.txt", "two.txt"],
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(at), *pair]) for at, pair in enumerate(pairs)
    ]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    assert sorted(str(row["document"]) for row in rows(town) if "document" in row) == [
        "minutes/one.txt",
        "two.txt",
    ]
    assert len(rows(town)) == 3
    assert {entry.name for entry in town.iterdir()} == {DECISIONS_FILE, DECISIONS_LOCK}
    assert discover(town, max_bytes=1000) == []


def test_who_waits_too_long_is_told(town: Path) -> None:
    with (
        FileLock(town / DECISIONS_LOCK),
        pytest.raises(CorpusError, match="another process is writing decisions on names"),
        edit_decisions(town, 0.05),
    ):
        pass


def test_questions_come_with_commands_that_answer_them(town: Path, run: Run) -> None:
    found = json.loads(run("entities", "town", "--ask", "--json")[1])
    (asked,) = found["questions"]
    commands = asked["commands"]
    # One of the two stands in another document too.
    assert commands == [
        f"graphrag-dagster {one} 'Bethia Mouat' Mouat"
        for one in (
            "merge town",
            "merge town --document minutes/one.txt",
            "split town --document minutes/one.txt",
        )
    ]
    assert asked["elsewhere"]
    shown = run("entities", "town", "--ask")[1]
    assert all(command in shown for command in commands)
    assert run(*shlex.split(commands[1])[1:])[0] == 0
    then = questions(Warehouse(), "town")
    assert (then.open, then.answered) == ((), 1)
    told = "1 question more is decided by now; to apply it: graphrag-dagster index town"
    assert told in run("entities", "town", "--ask")[1]
    again(town)
    assert questions(Warehouse(), "town").answered == 0
    decided = entity(Warehouse(), "town", "Bethia Mouat")
    assert decided.names["surface"].to_list() == ["Bethia Mouat", "Mouat"]
    (said,) = decided.decisions.filter("joins").to_dicts()
    assert (said["path"], said["who"]) == ("minutes/one.txt", getpass.getuser())
    undo("town")
    assert run(*shlex.split(commands[2])[1:])[0] == 0
    again(town)
    assert (
        questions(Warehouse(), "town").open,
        entity(Warehouse(), "town", "Bethia Mouat").names.height,
    ) == ((), 1)


def test_a_decision_on_what_is_gone_is_told_as_without_effect(town: Path, run: Run) -> None:
    made = merge("town", ["Bethia Mouat", "Agnes Smith"], who="Anna")
    gone = {path: names for path, names in TEXTS.items() if path != "two.txt"}
    write_tables(Warehouse(), "town", gone, load_settings(town).resolution.decisions())
    unused = questions(Warehouse(), "town").unused
    assert unused.select("decision_id", "who").rows() == [(made.said.id, "Anna")]
    code, out, _ = run("entities", "town", "--ask")
    assert code == 0
    assert f"a decision without effect: {made.said.id}: same: Bethia Mouat, Agnes Smith; no two" in out
    undo("town", made.said.id)


def test_what_a_decision_concerns_is_told(town: Path, run: Run) -> None:
    out = run("merge", "town", "Mouat", "Ann Lee", "--who", "Anna")[1]
    assert "entities of today become one" in out
    assert "index town; to take it back: graphrag-dagster undo town" in out
    assert "nothing is written" in run("merge", "town", "Ann Lee", "Mouat")[1]
    assert "and stay so" in run("split", "town", "Bo Kay", "Agnes Smith")[1]
    (town / "corpus.yaml").write_text("resolution: {enabled: false}\n", encoding="utf-8")
    assert "resolution.enabled is off" in run("merge", "town", "Bo Kay", "7")[1]
    code, _, err = run("entities", "town", "Moua", "--json")
    assert (code, "did you mean" in err) == (1, True)
    assert (
        run("merge", "nowhere", "a", "b")[0]
        == run("entities", "nowhere")[0]
        == run("undo", "nowhere")[0]
        == 1
    )
