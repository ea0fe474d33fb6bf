from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from graphrag_dagster.cli.output.running import run_job
from graphrag_dagster.model_calls.memory.database import database_at
from support.corpora import write_corpus
from support.endpoint import ScriptedEndpoint
from support.gone import SECRET
from support.homes import copy_home, shared_home

SETTINGS = {
    "extractive": "context: {min_sim: -1, alpha: 2}\nquestions: {methods: [C0, SS], personas: 1, tasks: 1, per_task: 2}\n",
    "llm": """
engine: llm
claims: {enabled: true}
text_units: {strategy: sentences, size: 40, overlap: 0}
embeddings: {embedder: endpoint, model: scripted-embedding}
questions: {methods: [C0, SS], personas: 1, tasks: 1, per_task: 2,
             ask: ["Who paid Selma Dray?"], write: always}
evaluation: {replicates: 1, criteria: [comprehensiveness, directness]}
model: {base_url: "URL", name: scripted, retries: 1, tasks: {judge: {name: judge}}}
""",
}
Enter = Callable[[str], Path]


@pytest.fixture(scope="session")
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(models=("scripted", "judge")) as server:
        yield server


@pytest.fixture(scope="session")
def evaluated(tmp_path_factory: pytest.TempPathFactory, endpoint: ScriptedEndpoint) -> Callable[[str], Path]:
    """Homes whose corpus ``coast`` holds a secret document and has been indexed, answered and evaluated."""

    def home_of(engine: str) -> Path:
        def fill(home: Path) -> None:
            folder = write_corpus(home / "corpora", settings=settings_of(engine, endpoint))
            for path, text in SECRET.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text, encoding="utf-8")
            run_job("coast")
            run_job("coast", "evaluate")
            database_at(home / "cache" / "replies.sqlite").close()

        return shared_home(tmp_path_factory, f"evaluated {engine}", fill)

    return home_of


@pytest.fixture
def enter(home: Path, evaluated: Callable[[str], Path], endpoint: ScriptedEndpoint) -> Enter:
    """Work in a copy of an evaluated home."""

    def copy(engine: str) -> Path:
        copy_home(evaluated(engine), home)
        # Another process, with another endpoint, may have made it.
        (home / "corpora" / "coast" / "corpus.yaml").write_text(settings_of(engine, endpoint))
        return home

    return copy


def settings_of(engine: str, endpoint: ScriptedEndpoint) -> str:
    return SETTINGS[engine].replace("URL", endpoint.url)
