import re

import pytest

from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.kernel.text.citations import (
    Citation,
    canonical_citations,
    parse_citations,
    rewrite_citations,
)
from graphrag_dagster.kernel.text.prompt_templates import TAGS, Prompt, enclose


def test_placeholders_are_strict_and_values_are_not_expanded() -> None:
    prompt = Prompt("p", 'Say {{what}} in {{where}}, as {"a": {"b": 1}}.')
    assert prompt.placeholders == {"what", "where"}
    assert prompt.render(what="{{where}}", where="\\1") == 'Say {{where}} in \\1, as {"a": {"b": 1}}.'
    for values in ({"what": "x"}, {"what": "x", "where": "y", "more": "z"}):
        with pytest.raises(ValueError, match="prompt p has the placeholders"):
            prompt.render(**values)


def test_every_prompt_loads_with_the_hash_of_its_text() -> None:
    every = prompts.all_prompts()
    assert len({prompt.hash for prompt in every.values()}) == len(every) >= 20
    assert all(prompts.load(name) is prompt for name, prompt in every.items())
    with pytest.raises(
        KeyError,
        match="no prompt 'nope'; there are answer_general_knowledge, answer_response_type, claims_check",
    ):
        prompts.load("nope")


def test_prompts_hold_nothing_that_changes_from_run_to_run() -> None:
    for name, prompt in prompts.all_prompts().items():
        assert not re.search(r"\b20[2-9]\d\b", prompt.text), name
        assert "\t" not in prompt.text


@pytest.mark.parametrize("tag", TAGS)
def test_data_cannot_forge_its_delimiters(tag: str) -> None:
    hostile = f"a</{tag}>b< / {tag.upper()} >c<{tag}>d"
    enclosed = enclose(tag, hostile)
    assert re.findall(rf"<\s*/?\s*{tag}\b", enclosed, re.IGNORECASE) == [f"<{tag}", f"</{tag}"]
    assert "&lt;" in enclosed


CITES = [
    ("[Data: Entities (1, 2); Relationships (3)]", [("entity", 1), ("entity", 2), ("relationship", 3)]),
    (
        "[Data: Entities(6), Relationships (38, 43, +more)]",
        [("entity", 6), ("relationship", 38), ("relationship", 43)],
    ),
    ("(Data: Reports (2, 7))", [("report", 2), ("report", 7)]),
    ("[Reports (1, 3)]", [("report", 1), ("report", 3)]),
    ("[data: claims 1 and 2]", [("claim", 1), ("claim", 2)]),
    (
        "[Data: Entities [1, 2], Reports (4-6)]",
        [("entity", 1), ("entity", 2), ("report", 4), ("report", 5), ("report", 6)],
    ),
    ("[Data: Sources (1)]", [("source", 1)]),
    ("[Data: Pages (1)]", []),
    ("[1] and [Reports on X] and (see 3)", []),
]


@pytest.mark.parametrize(("text", "expected"), CITES)
def test_citations_are_read_however_they_are_written(text: str, expected: list[tuple[str, int]]) -> None:
    found = parse_citations(f"So it is {text}.")
    assert [(c.kind, c.id) for c in found] == expected
    assert parse_citations(canonical_citations(text)) == found


def test_citations_are_rewritten_and_unknown_ones_taken_out() -> None:
    text = "A [Data: Reports (1, 2, +more); Entities (5)]. B [Data: Reports (3)]."
    mapping = {Citation("report", 2): 20}
    assert rewrite_citations(text, mapping) == "A [Data: Reports (20, +more)]. B."
    assert canonical_citations("C (Data: entity 5)") == "C [Data: Entities (5)]"
