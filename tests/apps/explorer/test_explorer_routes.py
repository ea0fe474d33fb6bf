"""What the page asks for, over HTTP."""

import csv
import io
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from graphrag_dagster.apps.explorer.explorer import Explorer
from graphrag_dagster.service.http_app import make_app
from graphrag_dagster.service.settings import ServiceSettings

COAST = "/corpora/coast"


def ids(seen: Explorer) -> dict[str, str]:
    return {
        "entity": str(seen.table("entities", limit=1).rows[0][0]),
        "document": str(seen.table("documents", limit=1).rows[0][0]),
        "community": seen.communities().cells[0].community_id,
    }


def paths(seen: Explorer) -> Iterator[str]:
    of = ids(seen)
    yield from (
        "overview",
        "communities",
        "communities?level=1&measure=tokens",
        "drawn",
        "drawn?level=0&most=10",
    )
    yield from (f"communities/{of['community']}{more}" for more in ("", "/members?limit=1"))
    yield f"communities?within={of['community']}"
    yield from (f"entities/{of['entity']}{more}" for more in ("", "/mentions?offset=1", "/neighbours"))
    yield from (f"why/entity/{of['entity']}", f"why/report/{of['community']}?most=1")
    yield from (f"documents/{of['document']}{more}" for more in ("", "/units", "/text?cited=1-9", "/impact"))
    yield from (
        "find?query=hanna",
        "tables",
        "snapshots",
        "tables/entities?sort=degree&descending=true&filter=a",
    )


def test_every_route_answers_and_tells_no_path_of_the_server(
    client: TestClient, seen: Explorer, seen_home: Path
) -> None:
    for path in paths(seen):
        answer = client.get(f"{COAST}/{path}")
        assert answer.status_code == 200, (path, answer.text)
        assert answer.headers["content-type"] == "application/json"
        assert str(seen_home) not in answer.text
    listed = client.get(f"{COAST}/communities").json()
    assert {cell["community_id"] for cell in listed["cells"]} == {
        cell.community_id for cell in seen.communities().cells
    }
    # The search by words and meaning stays beside the page of an entity.
    assert client.get(f"{COAST}/entities", params={"query": "Hanna Quill"}).json()["entities"]


@pytest.mark.parametrize(
    ("path", "status", "kind"),
    [
        ("coast/entities/nobody", 404, "entity_not_found"),
        ("coast/entities/nobody/mentions", 404, "entity_not_found"),
        ("coast/communities/none", 404, "community_not_found"),
        ("coast/communities?within=none", 404, "community_not_found"),
        ("coast/documents/none/text", 404, "document_not_found"),
        ("coast/why/relationship/none", 404, "relationship_not_found"),
        ("coast/tables/none", 404, "table_not_found"),
        ("coast/tables/none/csv", 404, "table_not_found"),
        ("coast/changes", 404, "snapshot_not_found"),
        ("nowhere/overview", 404, "corpus_not_found"),
        ("..%2Fetc/overview", 404, "not_found"),
        ("bare/overview", 409, "corpus_not_ready"),
        ("bare/tables/files/csv", 409, "corpus_not_ready"),
        ("coast/drawn?level=9", 400, "bad_question"),
        ("coast/communities?level=9", 400, "bad_question"),
        ("coast/tables/entities?sort=none", 400, "bad_question"),
        ("coast/tables/entities/csv?sort=none", 400, "bad_question"),
        ("coast/find?query=%20", 400, "bad_question"),
        ("coast/drawn?most=1", 422, "malformed_request"),
        ("coast/drawn?most=3000", 422, "malformed_request"),
        ("coast/communities?measure=love", 422, "malformed_request"),
        ("coast/communities?level=-1", 400, "bad_question"),
        ("coast/why/thing/none", 422, "malformed_request"),
        ("coast/tables/entities?offset=-1", 422, "malformed_request"),
        ("coast/tables/entities?limit=100000", 422, "malformed_request"),
        ("coast/tables/entities?descending=perhaps", 422, "malformed_request"),
    ],
)
def test_what_cannot_be_answered_is_refused(client: TestClient, path: str, status: int, kind: str) -> None:
    answer = client.get(f"/corpora/{path}")
    assert (answer.status_code, answer.json()["error"]["type"]) == (status, kind)


def test_csv_is_sent_as_a_file(client: TestClient) -> None:
    answer = client.get(f"{COAST}/tables/files/csv", params={"sort": "path"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="files.csv"'
    rows = list(csv.reader(io.StringIO(answer.text)))
    assert [row[0] for row in rows[1:]] == sorted(row[0] for row in rows[1:])


def test_answers_are_compressed_where_that_is_asked_for(client: TestClient) -> None:
    packed = client.get(f"{COAST}/drawn", headers={"Accept-Encoding": "gzip"})
    plain = client.get(f"{COAST}/drawn", headers={"Accept-Encoding": "identity"})
    assert (packed.headers["content-encoding"], plain.headers.get("content-encoding")) == ("gzip", None)
    assert packed.json() == plain.json()
    assert int(packed.headers["content-length"]) < len(plain.content) / 2


def test_events_are_sent_as_they_are(client: TestClient) -> None:
    asked = {"question": "Who led the Dockers Union?", "stream": True}
    answer = client.post(f"{COAST}/ask", json=asked, headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert "content-encoding" not in answer.headers


def test_the_token_guards_what_is_seen(seen: Explorer) -> None:
    token = secrets.token_urlsafe(24)
    with TestClient(make_app(ServiceSettings(token=token)), base_url="http://localhost:8000") as guarded:
        for path in paths(seen):
            assert guarded.get(f"{COAST}/{path}").status_code == 401
        sent = {"Authorization": f"Bearer {token}"}
        assert guarded.get(f"{COAST}/overview", headers=sent).status_code == 200


def test_settings_that_cannot_be_used_are_told_without_a_path_of_the_server(coast: Path) -> None:
    (coast / "corpus.yaml").write_text("engine: {search: llm}\n", encoding="utf-8")
    with TestClient(make_app(ServiceSettings()), base_url="http://127.0.0.1") as client:
        told = client.get(f"{COAST}/overview").json()
    assert any("corpus.yaml" in note for note in told["notes"])
    assert str(coast.parents[1]) not in str(told)
