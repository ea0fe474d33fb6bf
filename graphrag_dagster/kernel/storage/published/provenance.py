"""Provenance of a snapshot's tables, for its manifest."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from operator import attrgetter
from typing import Any

import polars as pl

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.catalogue.registry import engines, local_model_versions, result_libraries, tasks
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.credentials import redacted_settings
from graphrag_dagster.kernel.text.prompts import all_prompts

_NO_MODEL = "extractive"


@dataclass(frozen=True, slots=True)
class Accounts:
    """The current usage accounts of a corpus.

    Attributes:
        model_usage: rows of ``usage.model_usage``.
        run_usage: the query that makes ``usage.run_usage`` from them.
    """

    model_usage: pl.DataFrame
    run_usage: str


@dataclass(frozen=True, slots=True)
class SnapshotProvenance:
    """Publisher of a snapshot, and the code and settings of its tables.

    Attributes:
        settings: the corpus's settings.
        run_id: the Dagster run.
        code: asset key ``schema/table`` → version of the code that made the table.
        accounts: default: those of the warehouse.
    """

    settings: CorpusSettings = field(default_factory=CorpusSettings)
    run_id: str | None = None
    code: Mapping[str, str] = field(default_factory=dict)
    accounts: Accounts | None = None

    def told(self, embedder: str | None) -> dict[str, Any]:
        """Return the provenance entries of the manifest; ``embedder`` is the embedder of the vectors, if
        any.
        """
        return {
            "package": version("graphrag-dagster"),
            "code": dict(sorted(self.code.items())),
            "libraries": self._libraries(),
            "settings": redacted_settings(self.settings.model_dump(mode="json")),
            "prompts": {name: prompt.hash for name, prompt in all_prompts().items()},
            "models": {
                **{task.role: self._model(task.role) for task in tasks().values()},
                "embedder": embedder or self.settings.embeddings.embedder,
                **self._models_here(),
            },
        }

    def _libraries(self) -> dict[str, str]:
        installed = {}
        of_settings = {
            attrgetter(key)(self.settings) for engine in engines().values() for key in engine.library_settings
        }
        for name in sorted({*result_libraries(), *of_settings}):
            # Some may not be installed, and a pipeline may be a folder.
            with suppress(PackageNotFoundError, ValueError):
                installed[name] = version(name)
        return installed

    def _models_here(self) -> dict[str, str]:
        models: dict[str, str] = {}
        for section in sorted({task.section for task in tasks().values()}):
            if self.settings.does(section):
                # A missing model is reported when it is needed.
                with suppress(EngineError):
                    models |= local_model_versions(engines()[self.settings.engine_of(section)], self.settings)
        return models

    def _model(self, role: str) -> str:
        asked = any(self.settings.asks_model(task.section) for task in tasks().values() if task.role == role)
        return self.settings.model.for_role(role).name if asked else _NO_MODEL
