import os
import re
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.errors import CorpusError
from graphrag_dagster.kernel.common.file_discovery import FoundFile, discover, display_path, matches


def found(folder: Path, ignore: tuple[str, ...] = (), max_bytes: int = 1000) -> dict[str, FoundFile]:
    return {file.path: file for file in discover(folder, max_bytes=max_bytes, ignore=ignore)}


def write(path: Path, text: str = "text") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_what_tools_install_is_no_part_of_a_corpus(tmp_path: Path) -> None:
    for kept in ("a.txt", "notes/node_modules.md", "venv.txt", "notes/pyvenv.txt"):
        write(tmp_path / kept)
    left = ("node_modules/x/readme.md", "web/node_modules/x.md", "src/__pycache__/a.txt", "venv/lib/x.txt")
    for path in (*left, ".venv/a.txt", ".tox/a.txt", ".idea/a.txt", "my env/pyvenv.cfg", "my env/lib/x.txt"):
        write(tmp_path / path)
    files = found(tmp_path)
    assert [path for path, file in files.items() if not file.problem] == [
        "a.txt", "notes/node_modules.md", "notes/pyvenv.txt", "venv.txt",
    ]  # fmt: skip
    assert [path for path, file in files.items() if file.problem == "ignored"] == [
        ".idea", ".tox", ".venv", "my env", "node_modules", "src/__pycache__", "venv", "web/node_modules",
    ]  # fmt: skip


def test_all_depths_without_what_is_no_part_of_the_corpus(tmp_path: Path) -> None:
    for kept in ("b.txt", "a/deep/er/c.txt", "a/corpus.yaml"):
        write(tmp_path / kept)
    for left in ("corpus.yaml", ".git/config", ".DS_Store", "x/.hidden/y.txt", "b.txt~", "~$doc.docx", "#b#"):
        write(tmp_path / left)
    files = found(tmp_path)
    assert [path for path, file in files.items() if not file.problem] == [
        "a/corpus.yaml",
        "a/deep/er/c.txt",
        "b.txt",
    ]
    ignored = {path: file.reason or "" for path, file in files.items() if file.problem == "ignored"}
    assert set(ignored) == {".git", ".DS_Store", "x/.hidden", "b.txt~", "~$doc.docx", "#b#"}
    assert "hidden" in ignored[".git"]
    assert "editor" in ignored["b.txt~"]


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.log", "a/b/c.log", True),
        ("*.log", "a/b/c.log.txt", False),
        ("drafts", "news/drafts/one.txt", True),
        ("drafts/", "drafts/one.txt", True),
        ("news/*.csv", "news/a.csv", True),
        ("news/*.csv", "news/deep/a.csv", False),
        ("news/*.csv", "old/news/a.csv", False),
        ("news/**/*.csv", "news/a.csv", True),
        ("news/**/*.csv", "news/x/y/a.csv", True),
        ("**/a.csv", "a.csv", True),
        ("/a.csv", "b/a.csv", False),
        ("/a.csv", "a.csv", True),
        ("a?.txt", "ab.txt", True),
        ("a?.txt", "a/.txt", False),
        ("[ab].txt", "a.txt", True),
        ("[!ab].txt", "a.txt", False),
        ("[!ab].txt", "c.txt", True),
        ("[!]]", "a", True),
        ("a[.txt", "a[.txt", True),
        ("x.y", "xzy", False),
        ("drafts/**", "drafts", False),
        ("drafts/**", "drafts/a/b.txt", True),
        ("news/a**c", "news/abbc", True),
        ("news/a**c", "news/a/c", False),
        ("a//b", "a/b", False),
        ("/", "a", False),
    ],
)
def test_globs(pattern: str, path: str, expected: bool) -> None:
    assert matches(path, pattern) is expected


def plainly(pattern: str, path: str) -> bool:
    """Whether a pattern means a path, tried in all ways."""
    if not pattern:
        return not path
    if pattern.startswith("**/"):
        rests = [path, *(path[n + 1 :] for n, one in enumerate(path) if one == "/")]
        return any(plainly(pattern[3:], rest) for rest in rests)
    if pattern.startswith("*"):
        end = len(path) if pattern.startswith("**") else len(path.split("/")[0])
        return any(plainly(pattern.lstrip("*"), path[n:]) for n in range(end + 1))
    fits = bool(path) and (pattern[0] == path[0] or (pattern[0] == "?" and path[0] != "/"))
    return fits and plainly(pattern[1:], path[1:])


@given(
    st.lists(st.sampled_from(["a", "b", "?", "*", "/", "**/"]), min_size=1, max_size=8).map("".join),
    st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=4),
)
def test_a_pattern_finds_what_trying_in_all_ways_finds(pattern: str, parts: list[str]) -> None:
    pattern = re.sub(r"/+", "/", f"a/{pattern}").rstrip("/")
    # Two stars mean folders only where they are a whole part.
    pattern = re.sub(r"(?<!/)\*{2,}|\*{2,}(?!/)|\*{3,}", "*", pattern)
    path = "/".join(["a", *parts])
    found = any(plainly(pattern, "/".join(["a", *parts[:depth]])) for depth in range(len(parts) + 1))
    assert matches(path, pattern) == found


def test_many_wildcards_over_long_names_come_to_an_end() -> None:
    assert not matches(f"{'a' * 200}/{'a' * 50}", "*a*a*a*a*a*a*a*a*a*b")
    assert not matches("a" * 2000, "/**a**a**a**a**a**a**b")
    assert not matches("/".join("a" * 200), "**/a/**/a/**/a/**/a/**/b")
    assert not matches("/".join("a" * 2000), "**/*/" * 50 + "b")


@given(st.text(alphabet="ab*?[]!^/.\\-", max_size=12), st.text(alphabet="ab/.", min_size=1, max_size=8))
def test_any_pattern_can_be_matched(pattern: str, path: str) -> None:
    assert matches(path, pattern) in (True, False)


def test_what_a_pattern_ignores_is_listed_as_that_and_a_folder_once(tmp_path: Path) -> None:
    for name in ("keep.txt", "drafts/a.txt", "news/a.tmp", "news/b.txt", "news/raw/c.txt"):
        write(tmp_path / name)
    files = found(tmp_path, ("drafts", "*.tmp", "news/raw/**"))
    assert {path: file.problem for path, file in files.items()} == {
        "keep.txt": None,
        "drafts": "ignored",
        "news/a.tmp": "ignored",
        "news/b.txt": None,
        "news/raw/c.txt": "ignored",
    }
    assert files["news/a.tmp"].reason == "files.ignore names it: *.tmp"


def test_links_that_leave_the_corpus_are_refused(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside" / "secret.txt")
    corpus = tmp_path / "corpus"
    write(corpus / "a.txt")
    (corpus / "file.txt").symlink_to(outside)
    (corpus / "folder").symlink_to(outside.parent)
    # A sibling whose name begins like the corpus is outside all the same.
    sibling = write(tmp_path / "corpus2" / "s.txt")
    (corpus / "sibling.txt").symlink_to(Path("..") / "corpus2" / sibling.name)
    files = found(corpus)
    assert [files[name].problem for name in ("file.txt", "folder", "sibling.txt")] == ["refused"] * 3
    assert "leaves the corpus folder" in (files["file.txt"].reason or "")
    assert files["a.txt"].problem is None


def test_folders_are_read_where_they_are_and_not_through_links(tmp_path: Path) -> None:
    write(tmp_path / "m" / "x.txt")
    write(tmp_path / ".store" / "y.txt")
    (tmp_path / "m" / "up").symlink_to(tmp_path)
    (tmp_path / "a_link").symlink_to(tmp_path / "m")
    (tmp_path / "b_link").symlink_to(tmp_path / ".store")
    (tmp_path / "self.txt").symlink_to(tmp_path / "self.txt")
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nothing")
    files = found(tmp_path)
    assert files["m/x.txt"].problem is None
    links = ("m/up", "a_link", "b_link")
    assert {files[name].problem for name in links} == {"duplicate"}
    assert [files[name].duplicate_of for name in links] == [".", "m", ".store"]
    assert files["self.txt"].problem == files["gone.txt"].problem == "failed"
    assert files[".store"].problem == "ignored"
    assert len(files) == 7


def test_a_link_to_a_file_inside_is_read_through(tmp_path: Path) -> None:
    target = write(tmp_path / ".annex" / "object", "hello")
    (tmp_path / "a.txt").symlink_to(target)
    assert found(tmp_path)["a.txt"].location == target.resolve()


def test_a_corpus_folder_may_itself_be_a_link(tmp_path: Path) -> None:
    write(tmp_path / "real" / "a.txt")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert found(tmp_path / "link")["a.txt"].problem is None


def test_large_and_special_files_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "large.txt", "x" * 1001)
    write(tmp_path / "fits.txt", "x" * 1000)
    os.mkfifo(tmp_path / "pipe.txt")
    files = found(tmp_path)
    assert files["large.txt"].problem == "refused"
    assert "files.max_bytes" in (files["large.txt"].reason or "")
    assert files["large.txt"].bytes == 1001
    assert files["fits.txt"].problem is None
    assert files["pipe.txt"].problem == "refused"


def test_sockets_are_refused() -> None:
    with tempfile.TemporaryDirectory() as name, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{name}/s.txt")
        assert found(Path(name))["s.txt"].problem == "refused"


def test_odd_names_survive(tmp_path: Path) -> None:
    for name in (
        b"new\nline.txt",
        b"latin\xe9.txt",
        b"back\\slash.txt",
        b"back\\xe9.txt",
        "smörgås 港.txt".encode(),
    ):
        (Path(os.fsencode(tmp_path).decode()) / os.fsdecode(name)).write_text("x")
    assert set(found(tmp_path)) == {
        "new\\u000aline.txt",
        "latin\\xe9.txt",
        "back\\\\slash.txt",
        "back\\\\xe9.txt",
        "smörgås 港.txt",
    }


@given(st.binary(max_size=8), st.binary(max_size=8))
def test_different_names_are_shown_differently(one: bytes, other: bytes) -> None:
    assert (display_path(os.fsdecode(one)) == display_path(os.fsdecode(other))) == (one == other)


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder, and for the test an account that file permissions hold for."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if os.geteuid() != 0:
            yield folder
            return
        folder.chmod(0o777)
        os.seteuid(65534)
        try:
            yield folder
        finally:
            os.seteuid(0)


def test_folders_that_cannot_be_listed_are_failed(unprivileged: Path) -> None:
    write(unprivileged / "open.txt")
    write(unprivileged / "closed" / "a.txt")
    (unprivileged / "closed").chmod(0)
    try:
        files = found(unprivileged)
    finally:
        (unprivileged / "closed").chmod(0o700)
    assert files["closed"].problem == "failed"
    assert "cannot be listed" in (files["closed"].reason or "")
    assert files["open.txt"].problem is None


def test_no_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="does not exist"):
        discover(tmp_path / "nothing", max_bytes=1)
    with pytest.raises(CorpusError, match="not a folder"):
        discover(write(tmp_path / "a.txt"), max_bytes=1)
