"""What an error tells to do is done, and works."""

import io
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings, parse_settings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.resources.dagster_instance import instance
from support.commands import Run


def test_a_pointer_that_leads_nowhere_gets_the_new_path(home: Path, tmp_path: Path) -> None:
    store, folder = CorpusStore(), tmp_path / "notes"
    folder.mkdir()
    assert store.register(folder) == "notes"
    moved = folder.rename(tmp_path / "moved")
    with pytest.raises(GraphragError, match=r"write its new path into notes\.path"):
        store.folder("notes")
    (home / "corpora" / "notes.path").write_text(f"{moved}\n", encoding="utf-8")
    assert store.folder("notes") == moved


def test_a_folder_that_is_no_corpus_is_made_one_by_the_command_that_is_told(home: Path, run: Run) -> None:
    (home / "corpora" / "my docs (v2)").mkdir()
    code, out, _ = run("corpora")
    assert code == 0
    # The terminal is narrow, and a command stays on its line.
    (command,) = re.findall(r"to index it: (graphrag-dagster index .*)$", out, re.MULTILINE)
    *_, path = shlex.split(command)
    assert CorpusStore().resolve(path) == "my-docs-v2"
    assert CorpusStore().names() == ["my-docs-v2"]


def test_init_is_refused_where_there_is_a_corpus_and_does_what_it_tells(home: Path, run: Run) -> None:
    folder = home / "corpora" / "mine"
    folder.mkdir()
    (folder / "a.txt").write_text("Hanna Quill met Otto Lind.", encoding="utf-8")
    code, _, err = run("init", "mine")
    assert code == 1
    assert "put settings into its corpus.yaml" in err
    (folder / "corpus.yaml").write_text("description: letters\n", encoding="utf-8")
    assert CorpusStore().settings("mine").description == "letters"
    assert run("init", "other")[0] == 0
    assert CorpusStore().names() == ["mine", "other"]


def test_a_name_that_is_taken_is_replaced_by_one_that_is_given(home: Path, tmp_path: Path) -> None:
    (home / "corpora" / "mine").mkdir()
    folder = tmp_path / "mine"
    folder.mkdir()
    with pytest.raises(GraphragError, match="choose another with --name"):
        CorpusStore().resolve(str(folder), "mine")
    assert CorpusStore().resolve(str(folder), "another") == "another"


@pytest.mark.parametrize("history", [[], ["--history"]])
def test_what_nobody_agreed_to_is_done_with_yes(
    home: Path, run: Run, history: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "corpora" / "mine").mkdir()
    with instance() as records:
        from graphrag_dagster.definitions import defs
        from graphrag_dagster.resources.dagster_keys import CORPUS, PARTITION_TAG

        records.add_dynamic_partitions(str(CORPUS.name), ["mine"])
        index = defs.resolve_job_def("index")
        records.create_run_for_job(
            index, tags={PARTITION_TAG: "mine"}, asset_selection=index.asset_layer.executable_asset_keys
        )
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    code, _, err = run("delete", "mine", *history)
    assert code == 1
    assert "nothing was deleted; --yes deletes without asking" in err
    code, out, err = run("delete", "mine", *history, "--yes", "--json")
    assert code == 0, err
    assert '"runs": 1' in out


@pytest.mark.parametrize(
    ("wrong", "mended"),
    [
        ("engine: nonsense", lambda told: "engine: " + re.findall(r"allowed: '(\w+)'", told)[0]),
        ("text_units: {size: 10, overlap: 20}", lambda told: "text_units: {size: 40, overlap: 20}"),
        ("engin: llm", lambda told: re.findall(r"did you mean '?(\w+)", told)[0] + ": extractive"),
    ],
)
def test_settings_that_are_wrong_are_mended_as_they_tell(wrong: str, mended: Callable[[str], str]) -> None:
    with pytest.raises(GraphragError) as told:
        parse_settings(yaml.safe_load(wrong), "corpus.yaml")
    assert isinstance(parse_settings(yaml.safe_load(mended(str(told.value))), "corpus.yaml"), CorpusSettings)
