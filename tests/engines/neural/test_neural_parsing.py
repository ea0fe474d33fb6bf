from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.engines.neural.rebel_parsing import MARKERS, RebelTriple, parse


@pytest.mark.parametrize(
    ("written", "triples"),
    [
        ("<triplet> remdesivir <subj> fever <obj> treats", [("remdesivir", "treats", "fever")]),
        (
            "<s><triplet> This Must Be the Place <subj> Talking Heads <obj> performer <subj> Speaking in Tongues "
            "<obj> part of <triplet> Talking Heads <subj> new wave <obj> genre</s><pad><pad>",
            [
                ("This Must Be the Place", "performer", "Talking Heads"),
                ("This Must Be the Place", "part of", "Speaking in Tongues"),
                ("Talking Heads", "genre", "new wave"),
            ],
        ),
        ("<triplet>a<subj>b<obj>c", [("a", "c", "b")]),
        ("  <triplet>  two  words <subj>\ttail\n<obj> has\u00a0cause ", [("two words", "has cause", "tail")]),
        ("<triplet> 病毒 <subj> лихорадка <obj> علاج", [("病毒", "علاج", "лихорадка")]),
        ("", []),
        ("</s><s>", []),
        ("<triplet>", []),
    ],
)
def test_triples_are_read_as_the_model_was_taught_to_write_them(
    written: str, triples: list[tuple[str, str, str]]
) -> None:
    parsed = parse(written)
    assert [astuple(one) for one in parsed.triples] == triples
    assert parsed.incomplete == ()


@pytest.mark.parametrize(
    ("written", "ended", "triples", "incomplete"),
    [
        ("<triplet> a <subj> b", True, 0, [("<triplet> a <subj> b", "no relation")]),
        ("<triplet> a <obj> r", True, 0, [("<triplet> a <obj> r", "no tail")]),
        ("<subj> b <obj> r", True, 0, [("<subj> b <obj> r", "no head")]),
        ("<triplet> a <triplet> b <subj> c <obj> r", True, 1, [("<triplet> a", "no tail and no relation")]),
        ("<triplet> a <subj> b <obj> r <obj> s", True, 1, [("<triplet> a <obj> s", "no tail")]),
        ("a treats b", True, 0, [("a treats b", "no marker before it")]),
        ("a <triplet> b <subj> c <obj> r", True, 1, [("a", "no marker before it")]),
        ("<triplet> a <subj> b <obj> has ca", False, 0, [("<triplet> a <subj> b <obj> has ca", "cut off")]),
        ("<triplet> a <subj> b <obj> r <subj> c", False, 1, [("<triplet> a <subj> c", "cut off")]),
        ("<triplet> a <subj> b <obj> r <triplet>", False, 1, []),
    ],
)
def test_what_is_no_triple_is_told_of(
    written: str, ended: bool, triples: int, incomplete: list[tuple[str, str]]
) -> None:
    parsed = parse(written, ended=ended)
    assert len(parsed.triples) == triples
    assert [astuple(one) for one in parsed.incomplete] == incomplete


pieces = st.lists(st.sampled_from([*MARKERS, "<s>", "</s>", "<pad>", " ", "a", "b c", "<", "subj>", "\n"]))


@given(st.one_of(st.text(), pieces.map("".join)), st.booleans())
def test_any_text_can_be_parsed_and_no_triple_has_a_blank_part(written: str, ended: bool) -> None:
    parsed = parse(written, ended=ended)
    assert all(part.strip() for triple in parsed.triples for part in astuple(triple))
    assert all(one.raw and one.reason for one in parsed.incomplete)
    whole = parse(written)
    assert set(parsed.triples) <= set(whole.triples)
    assert len(whole.triples) - len(parsed.triples) <= 1


words = st.text("abc -ä病", min_size=1).map(lambda text: " ".join(text.split())).filter(bool)


@given(st.lists(st.builds(RebelTriple, words, words, words)))
def test_what_is_written_from_triples_is_read_as_them(triples: list[RebelTriple]) -> None:
    written = "".join(f"<triplet> {one.head} <subj> {one.tail} <obj> {one.relation} " for one in triples)
    parsed = parse(written)
    assert parsed.triples == tuple(triples)
    assert parsed.incomplete == ()
