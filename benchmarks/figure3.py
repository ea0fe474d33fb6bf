"""The GraphRAG paper's Figure 3 on passages of HotpotQA: entity references by chunk size and gleanings.

    python benchmarks/figure3.py [--engine extractive|scripted|model] [--base-url URL --model NAME] [passages]

994 passages, joined into ten documents, are indexed without a model and then put through ``study NAME
gleanings``. ``extractive`` does not glean: one point for each size. ``scripted`` is an endpoint that answers
by pattern, holding back half of each text's names until it is told to continue: it shows that every point is
made and counted, and says nothing of any model. ``model`` asks a real one; its key is in OPENAI_API_KEY.
"""

import argparse
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from homes import ROOT, command

from support.serve import ServedEndpoint

PASSAGES = ROOT.parent / "shared" / "data" / "hipporag" / "hotpotqa_train_corpus.json"
DOCUMENTS = 10
COLUMNS = ("chunk_size", "mode", "gleanings", "text_units", "entities", "distinct_entities", "engine")


def documents(passages: Path, folder: Path) -> None:
    """Write the passages under their titles, in their order, as ten texts that are longer than any chunk."""
    folder.mkdir(parents=True)
    texts = [
        f"{title}\n{''.join(sentences)}"
        for title, sentences in json.loads(passages.read_text(encoding="utf-8")).items()
    ]
    each = -(-len(texts) // DOCUMENTS)
    for number in range(DOCUMENTS):
        part = "\n\n".join(texts[number * each :][:each])
        (folder / f"part{number}.txt").write_text(part, encoding="utf-8")


def settings(folder: Path, **more: Any) -> None:
    content = {"studies": {"sampled_tokens": 1_000_000}, **more}
    (folder / "corpus.yaml").write_text(json.dumps(content), encoding="utf-8")


def run(home: Path, *arguments: str) -> dict[str, Any]:
    done = command(home, *arguments, "--json")
    if done.returncode:
        sys.exit(f"{' '.join(arguments)} failed with {done.returncode}: {done.stderr[-2000:]}")
    return dict(json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("passages", nargs="?", type=Path, default=PASSAGES)
    parser.add_argument("--engine", choices=("extractive", "scripted", "model"), default="extractive")
    parser.add_argument("--base-url")
    parser.add_argument("--model", default="gpt-4.1-mini")
    given = parser.parse_args()
    endpoint = ServedEndpoint(script="gleaning") if given.engine == "scripted" else nullcontext()
    with TemporaryDirectory() as folder, endpoint as server:
        home = Path(folder)
        corpus = home / "corpora" / "hotpot"
        documents(given.passages, corpus)
        settings(corpus)
        run(home, "index", "hotpot")
        if given.engine != "extractive":
            url = server.url if server else given.base_url
            model = {"name": given.model, **({"base_url": url} if url else {})}
            settings(corpus, extraction={"engine": "llm"}, model=model)
        rows = run(home, "study", "hotpot", "gleanings", "--yes", "--max-tokens", str(10**9))["rows"]
    print(f"engine: {given.engine}{f' ({given.model})' if given.engine == 'model' else ''}")
    print("| " + " | ".join(column.replace("_", " ") for column in COLUMNS) + " |")
    print("| --- " * len(COLUMNS) + "|")
    for row in rows:
        print("| " + " | ".join(f"{row[c]:,}" if isinstance(row[c], int) else row[c] for c in COLUMNS) + " |")


if __name__ == "__main__":
    main()
