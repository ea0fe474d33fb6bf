"""What the page asks for keeps to the OpenAPI document, over a real corpus."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig

from graphrag_dagster.service.http_app import make_app
from graphrag_dagster.service.settings import ServiceSettings
from support.homes import enter_home

CONFIG = SchemathesisConfig.from_dict(
    {
        "seed": 7,
        "parameters": {"path.corpus": "coast"},
        "generation": {"max-examples": 5, "deterministic": True, "database": "none"},
        # Which ids and columns there are, no schema can say.
        "checks": {"positive_data_acceptance": {"expected-statuses": ["2xx", "400", "404"]}},
    }
)
APP = make_app(ServiceSettings(allowed_hosts=frozenset({"testserver"})))
schema = schemathesis.openapi.from_asgi("/openapi.json", APP, config=CONFIG).include(tag="explorer")


@pytest.fixture(scope="module", autouse=True)
def coast(seen_home: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        enter_home(patch, seen_home)
        yield


@schema.parametrize()
def test_the_routes_keep_to_their_document(case: schemathesis.Case) -> None:
    case.call_and_validate()
