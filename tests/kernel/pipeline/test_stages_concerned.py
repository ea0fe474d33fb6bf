"""Which stages a changed setting concerns."""

import pytest

from graphrag_dagster.kernel.catalogue.registry import stages as declared_stages
from graphrag_dagster.kernel.catalogue.registry import stages_made
from graphrag_dagster.kernel.common.state_comparison import compare_values, flatten
from graphrag_dagster.kernel.pipeline.index_status import following, outdated_stages
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings, parse_settings


def stages(content: dict[str, object], base: dict[str, object] | None = None) -> set[str]:
    before = flatten(parse_settings(base or {}, "corpus.yaml").model_dump(mode="json"))
    now = flatten(parse_settings({**(base or {}), **content}, "corpus.yaml").model_dump(mode="json"))
    changes = compare_values(before, now)
    assert changes
    return outdated_stages(state(before), state(now))


def state(settings: dict[str, object]) -> dict[str, object]:
    return {"models": {}, "code": {}, "libraries": {}, "settings": settings}


LLM = {"engine": "llm"}
VECTORS = {"embeddings", "entity_embeddings"}
#: What ``profile: paper`` sets something of.
PAPER = {"corpus", "resolution", "communities", "reports", "answers", "evaluation", "studies"}


@pytest.mark.parametrize(
    ("content", "base", "expected"),
    [
        ({"text_units": {"size": 300}}, {}, {"corpus"}),
        ({"files": {"ignore": ["*.log"]}}, {}, {"corpus"}),
        ({"claims": {"enabled": True}}, {}, {"extraction"}),
        ({"extraction": {"processes": 3}}, {}, set()),
        ({"extraction": {"entity_types": ["ship"]}}, {}, set()),
        ({"extraction": {"entity_types": ["ship"]}}, LLM, {"extraction"}),
        ({"extraction": {"gleaning": {"rounds": 0}}}, LLM, {"extraction"}),
        ({"extraction": {"pipeline": "en_other"}}, LLM, set()),
        ({"extraction": {"pipeline": "en_other"}}, {}, {"extraction"}),
        ({"graph": {"max_input_tokens": 100}}, {}, set()),
        ({"graph": {"weight": "strength_sum"}}, {}, {"graph"}),
        ({"communities": {"seed": 1}}, {}, {"communities"}),
        ({"reports": {"context_tokens": 500}}, {}, {"reports"}),
        ({"embeddings": {"embedder": "endpoint", "model": "m"}}, {}, VECTORS),
        ({"search": {"level": 2}}, {}, {"answers"}),
        ({"description": "harbour news"}, {}, {"questions"}),
        (
            {"engine": "llm"},
            {},
            {"extraction", "resolution", "graph", "reports", "questions", "answers", "evaluation"},
        ),
        ({"resolution": {"engine": "extractive"}}, LLM, {"resolution"}),
        ({"resolution": {"enabled": False, "engine": "llm"}}, {"resolution": {"enabled": False}}, set()),
        ({"reports": {"engine": "llm"}}, {}, {"reports"}),
        ({"reports": {"engine": "extractive"}}, {}, set()),
        ({"model": {"name": "other"}}, {}, set()),
        ({"model": {"name": "other"}}, {"reports": {"engine": "llm"}}, {"reports"}),
        ({"model": {"concurrency": 2, "timeout_seconds": 3}}, LLM, set()),
        ({"model": {"tasks": {"report": {"name": "other"}}}}, LLM, {"reports"}),
        ({"model": {"tasks": {"report": {"concurrency": 1}}}}, LLM, set()),
        ({"model": {"tasks": {"resolve": {"name": "other"}}}}, LLM, {"resolution"}),
        ({"profile": "paper"}, {}, PAPER),
        (
            {"profile": "paper", "model": {"replies": "json_schema"}},
            LLM,
            PAPER | {"graph"},
        ),
        ({"model": {"namespace": "b"}}, {"embeddings": {"embedder": "endpoint"}}, VECTORS),
        ({"context": {"alpha": 2.0}}, {}, {"context"}),
        ({"paths": {"max_ent": 50}}, {}, {"paths"}),
        ({"paths": {"max_ent": 50, "processes": 2}}, {"paths": {"max_ent": 50}}, set()),
        ({"paths": {"max_ent": 50, "answering": "1"}}, {"paths": {"max_ent": 50}}, set()),
        (
            {"coterag": {"profile": "calibrated", "coverage_unit": "phrases"}},
            {"coterag": {"profile": "calibrated"}},
            set(),
        ),
        ({"paths": {"max_ent": 50, "engine": "llm"}}, {"paths": {"max_ent": 50}}, {"paths"}),
    ],
)
def test_a_setting_concerns_the_stages_that_read_it(
    content: dict[str, object], base: dict[str, object], expected: set[str]
) -> None:
    assert stages(content, base) == expected


def test_what_follows_a_stage_is_the_rest_of_the_index() -> None:
    assert following([], stages_made("index")) == []
    assert following(["answers"], stages_made("index")) == []
    assert following(["reports", "graph"], stages_made("index")) == list(stages_made("index")[4:])


def test_every_setting_is_placed() -> None:
    """A new section must say which stage it concerns, or that it concerns none."""
    placed = {
        "model",
        "engine",
        "kind",
        *(section for one in declared_stages().values() for section in one.sections),
    }
    # A profile counts by the keys that it sets.
    none = {"execution", "publishing", "schedule", "profile", "cypher", "write_back"}
    assert set(CorpusSettings.model_fields) <= placed | none
