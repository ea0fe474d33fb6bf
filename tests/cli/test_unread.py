import pytest

from graphrag_dagster import tables
from graphrag_dagster.cli.output.unread import name_unread, print_unread, unread_rows


def files(*rows: tuple[str, str, str | None]) -> list[dict[str, object]]:
    blank = dict.fromkeys(tables.FILES.column_names) | {"bytes": 1, "documents": 0}
    return [blank | {"path": path, "status": status, "reason": reason} for path, status, reason in rows]


MIXED = tables.FILES.frame(
    files(
        ("a.txt", "read", None),
        ("b.txt", "duplicate", "the same text"),
        (".git", "ignored", "hidden: its name begins with a dot"),
        ("c.png", "unsupported", "files of this extension are not read"),
        ("[red].json", "failed", "not valid JSON"),
    )
)


def test_what_was_not_read_is_listed_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert [row["path"] for row in unread_rows(MIXED)] == ["[red].json", "c.png", ".git"]
    print_unread(MIXED)
    out = capsys.readouterr().out
    for part in ("[red].json", "failed", "not valid JSON", ".git", "ignored"):
        assert part in out
    assert "b.txt" not in out


def test_the_first_are_named_and_how_to_see_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    name_unread("town", MIXED)
    out = capsys.readouterr().out
    assert "2 files were not read:" in out
    assert "[red].json: failed, not valid JSON" in out
    assert ".git" not in out
    name_unread("town", tables.FILES.frame(files(*((f"{n:02}.json", "failed", "broken") for n in range(13)))))
    out = capsys.readouterr().out
    assert "09.json" in out
    assert "10.json" not in out
    assert "and 3 more; all of them: graphrag-dagster show town" in out
    name_unread("town", MIXED.filter(MIXED["status"].is_in(["read", "duplicate", "ignored"])))
    assert capsys.readouterr().out == ""
