"""The files of a Microsoft GraphRAG project: schemas, settings, readme, and vectors as Lance tables."""

import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import yaml

from graphrag_dagster.apps.interchange.exporting.export_rows import RowBatches
from graphrag_dagster.kernel.common.progress import stage

#: Where the server listens unless told otherwise.
SERVER = "http://127.0.0.1:8000/v1"
_TEXT, _NUMBER, _REAL = pa.string(), pa.int64(), pa.float64()
_TEXTS, _NUMBERS = pa.list_(pa.string()), pa.list_(pa.int64())
_IDS = (("id", _TEXT), ("human_readable_id", _NUMBER))
_HIERARCHY = (("community", _NUMBER), ("level", _NUMBER), ("parent", _NUMBER), ("children", _NUMBERS))

#: Columns of the tables of version 3, in their order.
SCHEMAS: Mapping[str, pa.Schema] = MappingProxyType(
    {
        "documents": pa.schema(
            [
                *_IDS,
                ("title", _TEXT),
                ("text", _TEXT),
                ("text_unit_ids", _TEXTS),
                ("creation_date", _TEXT),
                ("raw_data", pa.null()),
            ]
        ),
        "text_units": pa.schema(
            [
                *_IDS,
                ("text", _TEXT),
                ("n_tokens", _NUMBER),
                ("document_id", _TEXT),
                ("entity_ids", _TEXTS),
                ("relationship_ids", _TEXTS),
                ("covariate_ids", _TEXTS),
            ]
        ),
        "entities": pa.schema(
            [
                *_IDS,
                ("title", _TEXT),
                ("type", _TEXT),
                ("description", _TEXT),
                ("text_unit_ids", _TEXTS),
                ("frequency", _NUMBER),
                ("degree", _NUMBER),
            ]
        ),
        "relationships": pa.schema(
            [
                *_IDS,
                ("source", _TEXT),
                ("target", _TEXT),
                ("description", _TEXT),
                ("weight", _REAL),
                ("combined_degree", _NUMBER),
                ("text_unit_ids", _TEXTS),
            ]
        ),
        "communities": pa.schema(
            [
                *_IDS,
                *_HIERARCHY,
                ("title", _TEXT),
                ("entity_ids", _TEXTS),
                ("relationship_ids", _TEXTS),
                ("text_unit_ids", _TEXTS),
                ("period", _TEXT),
                ("size", _NUMBER),
            ]
        ),
        "community_reports": pa.schema(
            [
                *_IDS,
                *_HIERARCHY,
                ("title", _TEXT),
                ("summary", _TEXT),
                ("full_content", _TEXT),
                ("rank", _REAL),
                ("rating_explanation", _TEXT),
                ("findings", pa.list_(pa.struct([("explanation", _TEXT), ("summary", _TEXT)]))),
                ("full_content_json", _TEXT),
                ("period", _TEXT),
                ("size", _NUMBER),
            ]
        ),
        "covariates": pa.schema(
            [
                *_IDS,
                *((name, _TEXT) for name in ("covariate_type", "type", "description", "subject_id")),
                *((name, _TEXT) for name in ("object_id", "status", "start_date", "end_date")),
                *((name, _TEXT) for name in ("source_text", "text_unit_id")),
            ]
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Models:
    """What answers over an export ask.

    Attributes:
        embedding: model of our server that embeds questions.
        dimensions: of the vectors; None where there are none.
        chat: name of the chat model; None for one that whoever asks is to name.
        chat_base: address of its endpoint; None for OpenAI's.
    """

    embedding: str
    dimensions: int | None
    chat: str | None = None
    chat_base: str | None = None


def settings_text(models: Models) -> str:
    """Return ``settings.yaml``: the vector store of the export, and our server as the embedding model."""
    chat: dict[str, object] = {
        "model_provider": "openai",
        "model": _escape(models.chat) if models.chat else "${GRAPHRAG_CHAT_MODEL}",
        "api_key": "${GRAPHRAG_API_KEY}",
    }
    if models.chat_base:
        chat["api_base"] = _escape(models.chat_base)
    embedding = {
        "model_provider": "openai",
        "model": _escape(models.embedding),
        "api_base": SERVER,
        # The server's token, where it has one; a client must send something in any case.
        "api_key": "none",
    }
    store: dict[str, object] = {"type": "lancedb", "db_uri": "output/lancedb"}
    if models.dimensions:
        store["vector_size"] = models.dimensions
    return _HEAD + yaml.safe_dump(
        {
            "completion_models": {"default_completion_model": chat},
            "embedding_models": {"default_embedding_model": embedding},
            "output_storage": {"type": "file", "base_dir": "output"},
            "vector_store": store,
        },
        sort_keys=False,
        allow_unicode=True,
    )


def readme_text(corpus: str, models: Models, lacking: list[str]) -> str:
    """Return the page that says what the files are and how to ask them.

    Args:
        corpus: name of the corpus.
        models: what is asked.
        lacking: what the export has not, a sentence each.
    """
    chat = "" if models.chat else "export GRAPHRAG_CHAT_MODEL=…   # name of a chat model\n"
    notes = "".join(f"- {line}\n" for line in lacking)
    return _README.format(corpus=corpus, chat=chat, server=SERVER, notes=f"\n{notes}" if notes else "")


def _escape(text: str) -> str:
    # The file is a template of variables before it is YAML.
    return text.replace("$", "$$")


_HEAD = "# Written by graphrag_dagster; see README.md beside it.\n"
_README = """# {corpus}, for Microsoft GraphRAG 3

`output/*.parquet` are the tables of a project of Microsoft GraphRAG 3, `output/lancedb` its vectors,
`settings.yaml` its settings. Questions are embedded by the server of graphrag_dagster, with the embedder that
made the vectors; everything else asks the chat model of `settings.yaml`.

```sh
graphrag-dagster serve &           # answers at {server}
pip install 'graphrag~=3.3'
export GRAPHRAG_API_KEY=…          # of the chat model
{chat}graphrag query --root . --method local "…"     # or global, drift, basic
```

Numbers in citations such as `[Data: Entities (5); Reports (2)]` are `human_readable_id` of `entities`,
`relationships` and `covariates`, `community` of `community_reports`, and the place of a row in `text_units`.
{notes}"""


#: What is to be installed for it.
EXTRA = "graphrag-dagster[lancedb]"


def has_lance() -> bool:
    """Whether Lance tables can be written."""
    return importlib.util.find_spec("lancedb") is not None


def write_vectors(place: Path, rows: RowBatches) -> int:
    """Write the Lance table ``place``, whose name ends in ``.lance``; returns the number of its rows.

    Args:
        place: the folder of the table; the folder it is in is the database.
        rows: ``id`` and ``vector``, a list of one length.
    """
    import lancedb

    size = rows.schema.field("vector").type.list_size
    schema = pa.schema([("id", pa.string()), ("vector", pa.list_(pa.float32(), size))])
    count = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal count
        with stage(f"Writing {place.name}") as running:
            for batch in rows.read():
                yield from pa.Table.from_batches([batch]).cast(schema).to_batches()
                count += batch.num_rows
                running.advance(batch.num_rows)

    database: Any = lancedb.connect(place.parent)
    database.create_table(place.stem, data=batches(), schema=schema)
    return count
