"""What measures are called where people read them."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from graphrag_dagster.systems.lego.studies.metrics.answers import LEX

_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "hits_at_1": "Hits@1",
        "answer_f1": "F1",
        "list_f1": "list F1",
        "judge_at_1": "Judge@1",
        "judge_agreement": "Judge@1 = Hits@1",
        "subgraph_recall": "subgraph recall",
        "subgraph_f1": "subgraph F1",
        "subgraph_nodes": "nodes",
        "subgraph_edges": "edges",
        "wcc": "components",
        "answers": "gold answers",
        "unmatchable": "unmatchable answers",
        "paths": "paths",
    }
)
_PATH_PART: Mapping[str, str] = MappingProxyType(
    {"precision": "path precision", "recall": "path recall", "f1": "path F1", "hit": "path hit"}
)
_AT = re.compile(r"path_(\w+)_at_(\d+)")


def measure_label(name: str) -> str:
    """Return what a measure is called.

    >>> measure_label("hits_at_1_lex"), measure_label("path_f1_at_32"), measure_label("seconds_retrieval")
    ('Hits@1-lex', 'path F1 at 32', 'seconds retrieval')
    """
    if name.endswith(LEX):
        return f"{measure_label(name.removesuffix(LEX))}-lex"
    if name in _LABELS:
        return _LABELS[name]
    if found := _AT.fullmatch(name):
        return f"{_PATH_PART[found[1]]} at {found[2]}"
    return name.replace("_", " ")
