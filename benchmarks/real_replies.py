"""What becomes of recorded replies of real models: records parsed, repaired, quarantined; reports read.

    python benchmarks/real_replies.py [FOLDER]

FOLDER holds ``mock_cache.json`` and ``llm_cache_shua-chen.json`` of nano-graphrag's recorded replies; default
is the folder of real data sets beside the checkout. Of each file 20 extraction replies are cut at every
position, as if an endpoint had said that each is whole; so are 20 reports of a published index, where it lies
there too.
"""

import json
import sys
import time
from collections import Counter
from pathlib import Path

import polars as pl

from graphrag_dagster.engines.extractive.text_spans import TextPlaces
from graphrag_dagster.kernel.models.chat.reply_parsing import NotUsable, read_typed, visible_text
from graphrag_dagster.kernel.tasks.task_ports import Quarantined
from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from graphrag_dagster.systems.graphrag.llm.extraction_lengths import names_and_pairs
from graphrag_dagster.systems.graphrag.llm.record_parsing import read_tuple_records
from graphrag_dagster.systems.graphrag.llm.summarization import ReportShape

FILES = ("mock_cache.json", "llm_cache_shua-chen.json")
DEFAULT = Path(__file__).parents[2] / "shared" / "data" / "nano_graphrag_carol"
REPORTS = Path("..") / "msft_graphrag" / "verbs_data" / "community_reports.parquet"
MOST = 20
WORDS = TextPlaces("")


def extraction(replies: list[str]) -> None:
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    begin = time.perf_counter()
    for reply in replies:
        found, _ = read_tuple_records(reply, ("entity", "relationship"), gleaning=False)
        counts["records"] += len(found.records) + len(found.bad)
        counts.update(one.kind for one in found.records)
        for made, repaired in found.instances(WORDS, 0):
            if isinstance(made, Quarantined):
                reasons[made.reason] += 1
            else:
                counts["repaired" if repaired else "clean"] += 1
    seconds = time.perf_counter() - begin
    kept = counts["clean"] + counts["repaired"]
    print(f"  extraction: {len(replies)} replies, {counts['records']} records in {seconds:.2f} s")
    print(f"    entities {counts['entity']}, relationships {counts['relationship']}")
    print(f"    clean {counts['clean']}, repaired {counts['repaired']}, quarantined {sum(reasons.values())}")
    for reason, number in reasons.most_common():
        print(f"    quarantined {number} × {reason}")
    if counts["records"] != kept + sum(reasons.values()):
        sys.exit("records were lost")


def reports(replies: list[str]) -> None:
    counts: Counter[str] = Counter()
    findings: Counter[int] = Counter()
    for reply in replies:
        try:
            report, repaired = read_typed(reply, ReportShape)
        except NotUsable as problem:
            counts[f"failed: {problem}"] += 1
        else:
            counts["repaired" if repaired else "clean"] += 1
            findings[len(report.findings)] += 1
    print(f"  reports: {len(replies)} replies; {dict(counts)}")
    print(f"    findings per report: {dict(sorted(findings.items()))}")


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    for name in FILES:
        recorded = json.loads((folder / name).read_text(encoding="utf-8"))
        replies = [visible_text(reply["return"]) for reply in recorded.values()]
        extracting = [reply for reply in replies if "<|>" in reply]
        reporting = [reply for reply in replies if '"findings"' in reply]
        print(f"{name}: {len(replies)} replies")
        extraction(extracting)
        reports(reporting)
        print(f"  other replies: {len(replies) - len(extracting) - len(reporting)}")
        tokens = [count(reply) for reply in extracting]
        print(f"  tokens of an extraction reply: {sum(tokens) / len(tokens):.0f}")
        cut_extractions(extracting)
    if (folder / REPORTS).is_file():
        cut_reports(folder / REPORTS)
    units = chunks((folder / "mock_data.txt").read_text(encoding="utf-8"))
    found = [names_and_pairs(unit) for unit in units]
    names, pairs = (sum(map(len, kind)) / len(units) for kind in zip(*found, strict=True))
    print(f"{len(units)} chunks of the book: {names:.1f} names and {pairs:.1f} pairs of names each")


def cut_reports(file: Path) -> None:
    """Every beginning of real reports; one that is read as a report has lost its end unnoticed."""
    table = pl.read_parquet(file).sort("human_readable_id").head(MOST)
    whole = [
        json.dumps(json.loads(text), ensure_ascii=False, indent=1) for text in table["full_content_json"]
    ]
    tried, accepted = 0, 0
    for reply in whole:
        read_typed(reply, ReportShape)
        tried += len(reply)
        accepted += sum(readable(reply[:end]) for end in range(len(reply)))
    print(f"{len(whole)} reports cut at every position: accepted {accepted} of {tried:,}")
    if accepted:
        sys.exit("a cut report was taken for whole")


def readable(reply: str) -> bool:
    try:
        read_typed(visible_text(reply), ReportShape)
    except NotUsable:
        return False
    return True


def cut_extractions(replies: list[str]) -> None:
    """Every beginning of real delimited tuples: refused, or read as repaired for want of the end mark."""
    outcomes: Counter[str] = Counter()
    for reply in replies[:MOST]:
        end_mark = reply.upper().rfind("<|COMPLETE")
        for end in range(end_mark if end_mark > 0 else len(reply)):
            try:
                _, repaired = read_tuple_records(
                    visible_text(reply[:end]), ("entity", "relationship"), gleaning=False
                )
            except NotUsable:
                outcomes["refused"] += 1
            else:
                outcomes["counted as repaired" if repaired else "taken for whole"] += 1
    print(f"{MOST} extraction replies cut at every position before their end mark: {dict(outcomes)}")


def count(text: str) -> int:
    return get_tokenizer("cl100k_base").count(text)


def chunks(text: str) -> list[str]:
    windows = get_tokenizer("cl100k_base").windows(text, 1200, 100)
    return [text[start:end] for start, end, _ in windows]


if __name__ == "__main__":
    main()
