from pathlib import Path

import pytest

from graphrag_dagster.errors import CorpusError
from graphrag_dagster.kernel.storage.corpus_names import check_name, name_from_folder
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore


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
    with pytest.raises(CorpusError, match="is not a valid corpus name"):
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
    outside.rmdir()
    with pytest.raises(CorpusError, match="outside.path points to"):
        store.folder("outside")


def test_a_corpus_is_known_by_its_folder(
    store: CorpusStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("a/My notes (2024)", "b/drafts", "c/drafts"):
        (tmp_path / place).mkdir(parents=True)
        store.register(tmp_path / place)
    monkeypatch.chdir(tmp_path / "b")
    assert store.name_of("My notes (2024)") == store.name_of("../a/My notes (2024)/") == "My-notes-2024"
    assert store.name_of("My-notes-2024") == "My-notes-2024"
    # Two folders are called so; the one at the path is meant.
    assert (store.name_of("drafts"), store.name_of("../c/drafts")) == ("drafts", "drafts-2")
    assert store.name_of("nowhere") == "nowhere"
    assert store.name_of("x" * 5000) == "x" * 5000


@pytest.mark.parametrize(
    ("target", "told"),
    [
        (
            "gamma",
            r"there is no folder .*/gamma, and no corpus 'gamma' below .*; there are the corpora: alpha, beta 2",
        ),
        ("./gamma", "there is no folder ./gamma; there are the corpora"),
        ("notes.txt", "notes.txt is not a folder; give the folder"),
    ],
)
def test_a_folder_that_is_missing_is_told(
    store: CorpusStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("Words.")
    with pytest.raises(CorpusError, match=told):
        store.resolve(target)


def test_no_root_means_no_corpora(tmp_path: Path) -> None:
    store = CorpusStore(root=str(tmp_path / "nowhere"))
    assert store.names() == store.misnamed() == []
    with pytest.raises(CorpusError, match="none yet"):
        store.folder("alpha")


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("notes", "notes"),
        ("a.b.c", "a.b.c"),
        ("Пример", "Пример"),
        ("東京", "東京"),
        ("Résumé 2024", "Resume-2024"),
        ("Re\u0301sume\u0301 2024", "Resume-2024"),
        ("my docs (v2)", "my-docs-v2"),
        ("Report, Q1 2024", "Report-Q1-2024"),
        ("notes#1 & more?", "notes-1-more"),
        ("a - b . c", "a-b-c"),
        ("हिन्दी", "hindi"),
        ("📚", "books"),
        ("draft...", "draft"),
        (".hidden", "hidden"),
        ("-x", "x"),
        ("x'y\"z", "x-y-z"),
        ("graph", "graph-corpus"),
        ("Main", "Main-corpus"),
        ("x" * 200, f"{'x' * 60}-aa20c2"),
        ("数据" * 40, f"{'ShuJu' * 12}-3a660b"),
        ("()", "corpus-2e38e7"),
        ("..", "corpus-5ec1f7"),
        ("\udcff\udcfe", "corpus-b3d510"),
    ],
)
def test_a_name_is_made_of_any_folder(folder: str, name: str) -> None:
    assert name_from_folder(folder) == name_from_folder(folder) == check_name(name)


def test_folders_that_give_one_name_are_told_apart_and_keep_theirs(
    store: CorpusStore, tmp_path: Path
) -> None:
    folders = [tmp_path / at for at in ("one/my docs", "two/my-docs", "three/my (docs)", "four/alpha")]
    for folder in folders:
        folder.mkdir(parents=True)
    names = ["my-docs", "my-docs-2", "my-docs-3", "alpha-2"]
    assert [store.register(folder) for folder in folders] == names
    assert [store.resolve(f"{folder}/") for folder in reversed(folders)] == names[::-1]
    assert [store.folder(name) for name in names] == folders
    with pytest.raises(CorpusError, match="taken by the corpus in .*alpha; choose another with --name"):
        store.resolve(str(folders[0]), "alpha")
    assert store.resolve(str(folders[0]), "other") == "other"
    with pytest.raises(CorpusError, match="--name needs a folder"):
        store.resolve("alpha", "beta")


def test_a_folder_below_the_root_whose_name_is_not_allowed_becomes_a_corpus_by_its_path(
    store: CorpusStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert store.resolve(str(store.path / "bad'name")) == "bad-name"
    assert store.misnamed() == []
    assert store.names() == ["alpha", "bad-name", "beta 2"]


def test_no_name_is_longer_than_file_systems_allow() -> None:
    with pytest.raises(CorpusError, match="200 bytes at most"):
        check_name("数" * 100)


@pytest.mark.parametrize("text", ["turn left\nthen right\n", "down the road", "", "\udcff"])
def test_a_file_that_is_no_pointer_is_never_deleted(store: CorpusStore, tmp_path: Path, text: str) -> None:
    file = Path(store.root) / "walk.path"
    file.write_text(text, encoding="utf-8", errors="surrogateescape")
    store.forget("walk")
    assert file.exists()
    file.write_text(f"{tmp_path}\n")
    store.forget("walk")
    store.forget("walk")
    assert not file.exists()
