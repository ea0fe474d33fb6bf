from pathlib import Path

import pytest

from graphrag_dagster.errors import CorpusError
from graphrag_dagster.resources.corpora import CorpusStore


@pytest.fixture
def store(tmp_path: Path) -> CorpusStore:
    root = tmp_path / "corpora"
    for name in ("alpha", "beta 2"):
        (root / name).mkdir(parents=True)
    (root / "a file.txt").write_text("no corpus")
    (root / ".hidden").mkdir()
    (root / "bad'name").mkdir()
    return CorpusStore(root=str(root))


def test_folders_with_allowed_names_are_corpora(store: CorpusStore) -> None:
    assert store.names() == ["alpha", "beta 2"]
    assert store.misnamed() == ["bad'name"]
    assert store.folder("beta 2").name == "beta 2"


def test_an_unknown_corpus_names_those_there_are(store: CorpusStore) -> None:
    with pytest.raises(CorpusError, match="there are: alpha, beta 2"):
        store.folder("gamma")


@pytest.mark.parametrize("name", ["../alpha", "alpha/../beta 2", "bad'name", 'x"', "", "alpha\x00"])
def test_names_that_could_escape_are_refused(store: CorpusStore, name: str) -> None:
    with pytest.raises(CorpusError, match="cannot name a corpus"):
        store.folder(name)


def test_a_link_that_leaves_the_root_is_no_corpus(store: CorpusStore, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (store.path / "linked").symlink_to(outside)
    assert "linked" not in store.names()
    with pytest.raises(CorpusError, match="no corpus 'linked'"):
        store.folder("linked")


def test_a_folder_elsewhere_is_registered_once_by_a_pointer(store: CorpusStore, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    assert store.register(outside) == "outside"
    assert store.register(outside) == "outside"
    assert store.folder("outside") == outside
    assert "outside" in store.names()
    assert store.register(store.path / "alpha") == "alpha"
    assert sorted(p.name for p in store.path.glob("*.path")) == ["outside.path"]
    other = tmp_path / "elsewhere" / "outside"
    other.mkdir(parents=True)
    with pytest.raises(CorpusError, match="taken by"):
        store.register(other)
    outside.rmdir()
    with pytest.raises(CorpusError, match="outside.path points to"):
        store.folder("outside")


def test_no_root_means_no_corpora(tmp_path: Path) -> None:
    store = CorpusStore(root=str(tmp_path / "nowhere"))
    assert store.names() == store.misnamed() == []
    with pytest.raises(CorpusError, match="none yet"):
        store.folder("alpha")
