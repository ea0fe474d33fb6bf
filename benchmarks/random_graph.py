"""An index of random words, for measurements."""

import random
from itertools import accumulate

from graphrag_dagster.kernel.documents.document_metadata import periods_of
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.tables import core_tables as tables


def random_graph(entities: int, seed: int = 7) -> IndexSnapshot:
    """Return an index: two relationships an entity, a text unit for two entities, a report for five."""
    rng = random.Random(seed)
    syllables = [a + b for a in "bcdfghjklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "ol")]
    vocabulary = ["".join(rng.choices(syllables, k=rng.randint(2, 4))) for _ in range(20_000)]
    weights = list(accumulate(1 / (rank + 10) for rank in range(len(vocabulary))))

    def text(words: int) -> str:
        return " ".join(rng.choices(vocabulary, cum_weights=weights, k=words)).capitalize() + "."

    titles = list(
        dict.fromkeys(
            " ".join(word.capitalize() for word in rng.choices(vocabulary, k=2)) for _ in range(entities)
        )
    )
    count = len(titles)
    units, of_unit = count // 2, [[] for _ in range(count)]
    chunks = []
    for unit in range(units):
        named = rng.sample(range(count), 4)
        for one in named:
            of_unit[one].append(f"u{unit}")
        body = " ".join(f"{titles[one]} {text(20)}" for one in named)
        chunks.append(
            {
                "text_unit_id": f"u{unit}",
                "human_readable_id": unit,
                "document_id": f"d{unit}",
                "position": 0,
                "start_char": 0,
                "end_char": len(body),
                "text": body,
                "tokens": 150,
                "encoding": "cl100k_base",
                "strategy": "none",
            }
        )
    ends = {tuple(sorted(rng.sample(range(count), 2))) for _ in range(2 * count)}
    reports = count // 5
    ids = [f"r{report}" for report in range(reports)]
    blank = {"description_problem": None, "description_engine": "as_is", "description_repaired": False}
    documents = tables.DOCUMENTS.frame(
        [
            {
                "document_id": f"d{n}",
                "human_readable_id": n,
                "path": f"{n}.txt",
                "row": None,
                "source_id": None,
                "title": titles[n],
                "text": chunks[n]["text"],
                "characters": 1,
                "date": None,
                "metadata": "{}",
            }
            for n in range(units)
        ]
    )
    return IndexSnapshot(
        documents=documents,
        metadata=tables.DOCUMENT_METADATA.empty(),
        periods=periods_of(documents),
        text_chunks=tables.TEXT_CHUNKS.frame(chunks),
        entities=tables.ENTITIES.frame(
            [
                {
                    "entity_id": f"e{n}",
                    "human_readable_id": n,
                    "name": title.upper(),
                    "title": title,
                    "names": [title],
                    "type": "X",
                    "description": text(15),
                    "text_unit_ids": of_unit[n],
                    "frequency": 1,
                    "instances": 1,
                    "degree": 4,
                    **blank,
                }
                for n, title in enumerate(titles)
            ]
        ),
        relationships=tables.RELATIONSHIPS.frame(
            [
                {
                    "relationship_id": f"x{n}",
                    "human_readable_id": n,
                    "source": titles[a].upper(),
                    "target": titles[b].upper(),
                    "source_id": f"e{a}",
                    "target_id": f"e{b}",
                    "description": text(10),
                    "weight": 1.0,
                    "instances": 1,
                    "combined_degree": 8,
                    "text_unit_ids": of_unit[a][:1],
                    **blank,
                }
                for n, (a, b) in enumerate(sorted(ends))
            ]
        ),
        communities=tables.COMMUNITIES.empty(),
        community_levels=tables.COMMUNITY_LEVELS.frame(
            [
                {
                    "level": 0,
                    "entity_id": f"e{n}",
                    "community_id": ids[n % reports],
                    "projected": False,
                }
                for n in range(count)
            ]
        ),
        reports=tables.COMMUNITY_REPORTS.frame(
            [
                {
                    "report_id": one,
                    "human_readable_id": n,
                    "level": 0,
                    "title": titles[n],
                    "summary": text(20),
                    "rating": 5.0,
                    "rating_explanation": "",
                    "content": f"# {titles[n]}\n\n{text(120)}",
                    "tokens": 200,
                    "engine": "llm",
                    "problem": None,
                    "repaired": False,
                }
                for n, one in enumerate(ids)
            ]
        ),
        findings=tables.REPORT_FINDINGS.empty(),
        references=tables.REPORT_REFERENCES.empty(),
        members=tables.COMMUNITY_MEMBERS.frame(
            [
                {
                    "community_id": ids[n % reports],
                    "entity_id": f"e{n}",
                    "level": 0,
                }
                for n in range(count)
            ]
        ),
    )
