"""The sample corpus, which comes with the package; README.md beside this file tells what it holds."""

from pathlib import Path

#: The folder of the documents, with their ``corpus.yaml``.
HARBOUR = Path(__file__).with_name("harbour")
