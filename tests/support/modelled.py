"""The corpus ``coast`` made by a model, the scripted one."""

from pathlib import Path

from support.corpora import write_corpus
from support.endpoint import ScriptedEndpoint

_SETTINGS = """
engine: llm
text_units: {strategy: sentences, size: 40, overlap: 0}
claims: {enabled: true}
embeddings: {embedder: endpoint, model: scripted-embedding}
model:
  base_url: "URL"
  name: scripted
  retries: 2
  max_output_tokens: 400
  prices: {input: 2.0, output: 8.0}
"""


def model_settings(endpoint: ScriptedEndpoint) -> str:
    """Settings under which a model makes all that one can make; more keys of ``model`` may follow."""
    return _SETTINGS.replace("URL", endpoint.url)


def write_modelled(root: Path, endpoint: ScriptedEndpoint, more: str = "") -> Path:
    """Write the corpus and its settings below ``root``; gives its folder."""
    return write_corpus(root, settings=model_settings(endpoint) + more)
