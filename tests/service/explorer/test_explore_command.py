"""``graphrag-dagster explore``: the page in one file, and what is told where it cannot be shown."""

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from graphrag_dagster.service.explorer.page_export import PageExportError, export_page
from support.commands import Run
from support.corpora import write_corpus


def _answers(page: str) -> tuple[str, dict[str, Any]]:
    held = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert held
    data = json.loads(held[1])
    return data["told"], json.loads(gzip.decompress(base64.b64decode(data["packed"])))


def test_one_file_holds_the_page_and_all_that_it_shows_and_asks_nobody(
    run: Run, coast: Path, tmp_path: Path
) -> None:
    file = tmp_path / "map.html"
    code, out, _ = run("explore", "coast", "--export", str(file))
    assert code == 0
    page = file.read_text(encoding="utf-8")
    told, answers = _answers(page)
    assert told in out.replace("\n", "")
    assert re.search(r"map\.html: \d[\d,.]* MB$", out.strip())
    assert told.startswith("A complete offline view of coast")
    overview = answers["/corpora/coast/overview"]
    for level in ("", *(f"level={one['level']}" for one in overview["levels"])):
        assert f"/corpora/coast/drawn?{level}".rstrip("?") in answers
        for measure in ("", "measure=tokens"):
            query = "&".join(filter(None, (level, measure)))
            assert f"/corpora/coast/communities?{query}".rstrip("?") in answers
    assert overview["counts"]["entities"] == sum(
        re.fullmatch(r"/corpora/coast/entities/\w+", path) is not None for path in answers
    )
    for document in answers["/corpora/coast/tables/documents"]["rows"]:
        text = answers[f"/corpora/coast/documents/{document[0]}/text"]
        assert len("".join(part["text"] for part in text["parts"])) == text["characters"]

    # It runs its own scripts alone.
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 2
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy[1]
    assert "default-src 'none'" in policy[1]
    assert "connect-src" not in policy[1]
    assert str(coast.parents[1]) not in page


@pytest.mark.long
def test_the_same_corpus_makes_the_same_file(run: Run, coast: Path, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.html", "two.html")]
    for file in files:
        assert run("explore", "coast", "--export", str(file))[0] == 0
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.long
def test_what_does_not_fit_is_left_out_and_said(coast: Path, tmp_path: Path) -> None:
    whole = export_page("coast", tmp_path / "whole.html", 5_000_000)
    made = export_page("coast", tmp_path / "less.html", whole.bytes - 4_000)
    assert made.bytes <= whole.bytes - 4_000
    assert re.search(r"only [\d,]+ of", made.told)
    told, answers = _answers(made.file.read_text(encoding="utf-8"))
    assert told == made.told
    assert "/corpora/coast/drawn" in answers
    # The reports of communities come before the graphs inside them.
    assert re.search(r"[1-9]\d* of \d+ communities; \d+ of \d+ graphs? inside a community; ", made.told)
    with pytest.raises(PageExportError, match="--max-mb"):
        export_page("coast", tmp_path / "none.html", 100_000)
    assert not (tmp_path / "none.html").exists()


@pytest.mark.parametrize("place", ["missing/map.html", "folder"])
def test_a_place_that_cannot_be_written_is_named(run: Run, coast: Path, tmp_path: Path, place: str) -> None:
    (tmp_path / "folder").mkdir()
    code, _, error = run("explore", "coast", "--export", str(tmp_path / place))
    assert code == 1
    assert place in error
    assert "choose another file" in error
    assert not list(tmp_path.glob(".*.tmp"))


@pytest.mark.parametrize("arguments", [(), ("--export", "map.html")])
def test_what_is_not_published_is_not_shown(run: Run, home: Path, arguments: tuple[str, ...]) -> None:
    write_corpus(home / "corpora", "bare")
    code, _, error = run("explore", "bare", *arguments)
    assert code == 1
    assert "graphrag-dagster index bare" in error
    code, _, error = run("explore", "nowhere", *arguments)
    assert code == 1
    assert "nowhere" in error
