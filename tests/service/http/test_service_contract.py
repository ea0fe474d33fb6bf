import secrets

import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig

from graphrag_dagster.service.http_app import make_app
from graphrag_dagster.service.settings import ServiceSettings
from support.served import FaultyLibrary

TOKEN = secrets.token_urlsafe(24)
NAMED = frozenset({"testserver"})


def config(examples: int = 12) -> SchemathesisConfig:
    return SchemathesisConfig.from_dict(
        {
            "seed": 7,
            "parameters": {"path.corpus": "coast"},
            "generation": {"max-examples": examples, "deterministic": True, "database": "none"},
            # Which levels a corpus has, and which words a question needs, no schema can say.
            "checks": {
                "positive_data_acceptance": {"expected-statuses": ["2xx", "400", "401", "404", "409"]}
            },
        }
    )


APP = make_app(ServiceSettings(allowed_hosts=NAMED), FaultyLibrary())
GUARDED = make_app(ServiceSettings(allowed_hosts=NAMED, token=TOKEN), FaultyLibrary())
AUTHORISED = {"Authorization": f"Bearer {TOKEN}"}
schema = schemathesis.openapi.from_asgi("/openapi.json", APP, config=config())
# The routes are the same: a few requests of each tell whether the token is in their way.
guarded = schemathesis.openapi.from_asgi("/openapi.json", GUARDED, config=config(3), headers=AUTHORISED)


@schema.parametrize()
def test_the_server_keeps_to_its_openapi_document(case: schemathesis.Case) -> None:
    case.call_and_validate()


@pytest.mark.long
@guarded.parametrize()
def test_the_server_keeps_to_it_with_a_token(case: schemathesis.Case) -> None:
    case.call_and_validate(headers=AUTHORISED)


def test_the_document_tells_kinds_of_evidence_apart() -> None:
    schemas = APP.openapi()["components"]["schemas"]
    union, _ = schemas["Source"]["properties"]["evidence"]["anyOf"]
    assert union["discriminator"]["propertyName"] == "kind"
    for kind, name in (("words", "Words"), ("triple", "Triple"), ("row", "Row")):
        assert union["discriminator"]["mapping"][kind] == f"#/components/schemas/{name}"
        assert schemas[name]["properties"]["kind"]["const"] == kind
        assert "kind" in schemas[name]["required"]


def test_the_document_names_every_route_and_refusal() -> None:
    document = APP.openapi()
    explored = {
        path
        for path, methods in document["paths"].items()
        if methods.get("get", {}).get("tags") == ["explorer"]
    }
    assert set(document["paths"]) - explored == {
        "/health",
        "/corpora",
        "/corpora/{corpus}/ask",
        "/corpora/{corpus}/cypher",
        "/corpora/{corpus}/entities",
        "/corpora/{corpus}/reports/{report_id}",
        "/corpora/{corpus}/sources/{text_unit_id}",
        "/v1/models",
        "/v1/models/{model}",
        "/v1/chat/completions",
        "/v1/embeddings",
    }
    for path in ("/corpora/{corpus}/ask", "/v1/chat/completions"):
        told = document["paths"][path]["post"]["responses"]
        refused = {"400", "401", "404", "409", "413", "422", "429", "502", "504"}
        assert refused <= set(told)
        assert set(told["200"]["content"]) == {"application/json", "text/event-stream"}
