import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.models.chat.reply_parsing import NotUsable
from graphrag_dagster.systems.graphrag.llm.record_parsing import parse_tuples, read_tuple_records

CLEAN = (
    '("entity"<|>FED<|>ORGANIZATION<|>The central bank)\n##\n'
    '("entity"<|>JEROME POWELL<|>PERSON<|>Its chair (since 2018))\n##\n'
    '("relationship"<|>JEROME POWELL<|>FED<|>He chairs it<|>9)\n<|COMPLETE|>'
)


def fields(reply: str, kind: str) -> list[tuple[object, ...]]:
    found = parse_tuples(reply).records
    return [tuple(record.fields.values.values()) for record in found if record.kind == kind]


def mended(reply: str) -> list[list[str]]:
    return [record.fields.mended for record in parse_tuples(reply).records if record.fields.mended]


def test_clean_records_need_no_mending() -> None:
    parsed = parse_tuples(CLEAN)
    assert fields(CLEAN, "entity") == [
        ("FED", "ORGANIZATION", "The central bank"),
        ("JEROME POWELL", "PERSON", "Its chair (since 2018)"),
    ]
    assert fields(CLEAN, "relationship") == [("JEROME POWELL", "FED", "He chairs it", "9")]
    assert (len(parsed.records), mended(CLEAN), parsed.quarantined, parsed.noise) == (3, [], [], [])
    assert parsed.complete


@pytest.mark.parametrize(
    ("noisy", "kind", "expected"),
    [
        (
            '("entity"<|>"A B"<|>"geo"<|>"Said to be ""near"".")',
            "entity",
            ("A B", "geo", 'Said to be ""near"".'),
        ),
        ('("Entity"<|>A<|>GEO<|>A place)', "entity", ("A", "GEO", "A place")),
        ("(“entity”<|>“A”<|>“GEO”<|>“A place”)", "entity", ("A", "GEO", "A place")),
        ('("entity"\n<|>A\n<|>GEO\n<|>A place)', "entity", ("A", "GEO", "A place")),
        ('("relation"<|>A<|>B<|>Next to<|>9)', "relationship", ("A", "B", "Next to", "9")),
        ('("relationship"<|>A<|>B<|>"Next to"|>9)', "relationship", ("A", "B", "Next to", "9")),
        ('("relationship"<|>A<|>B<|>"Next to"</|>9)', "relationship", ("A", "B", "Next to", "9")),
        ('("relationship"<|>A<|>B<|>Next to<|>high)', "relationship", ("A", "B", "Next to", "high")),
    ],
)
def test_what_real_models_write_otherwise_is_read(
    noisy: str, kind: str, expected: tuple[object, ...]
) -> None:
    assert fields(noisy, kind) == [expected]
    assert parse_tuples(noisy).quarantined == []


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ('"entity"<|>A<|>GEO<|>A place', "it begins with no tag of a record"),
        ("(A<|>GEO<|>A place)", "it begins with no tag of a record"),
        ('("place"<|>A<|>GEO<|>A place)', "it begins with no tag of a record"),
        ('("entity"<|>A<|>GEO<|>A place', "the record is not closed by a parenthesis"),
        ('("entity"<|>A<|>GEO<|>A place<|>7)', "it has 4 fields, not the 3 of an entity"),
        ('("entity"<|>A<|>GEO)', "it has 2 fields, not the 3 of an entity"),
        ('("relationship"<|>A<|>B<|>Next to)', "it has 3 fields, not the 4 of a relationship"),
        ('("claim"<|>A<|>B)', "it has 2 fields, not the 8 of a claim"),
    ],
)
def test_a_record_of_another_shape_is_quarantined_whole(other: str, reason: str) -> None:
    parsed = parse_tuples(f"{other}\n{CLEAN}" if other.endswith(")") else f"{other}<|COMPLETE|>{CLEAN}")
    assert parsed.quarantined == [(other, reason)]
    assert len(parsed.records) == 3


@pytest.mark.parametrize(
    "reply",
    [
        CLEAN.replace("\n##\n", "##"),
        CLEAN.replace("\n##\n", "##\n## \n"),
        CLEAN.replace("\n##\n", "\n"),
        CLEAN.replace("\n##\n", " "),
        CLEAN.replace("\n##\n", "\n\n**More:**\n\n1. "),
        f"```\n{CLEAN}\n```",
        f"Here are the records:\n\n{CLEAN}\n\nI hope this helps!",
        CLEAN.replace("<|COMPLETE|>", "<|complete|>"),
        CLEAN.replace("\n<|COMPLETE|>", "<|COMPLETE|>"),
    ],
)
def test_whatever_parts_the_records_all_are_found(reply: str) -> None:
    assert (fields(reply, "entity"), fields(reply, "relationship")) == (
        fields(CLEAN, "entity"),
        fields(CLEAN, "relationship"),
    )
    assert len(parse_tuples(reply).records) == 3
    assert not mended(reply)


def test_a_reply_that_is_cut_anywhere_loses_nothing_in_silence() -> None:
    """Where it is cut between two records only the want of the end mark tells, and it counts as mended."""
    kinds = ("entity", "relationship")
    for end in range(CLEAN.index("<|COMPLETE")):
        try:
            reply, repaired = read_tuple_records(CLEAN[:end], kinds, gleaning=False)
        except NotUsable:
            continue
        assert repaired
        assert CLEAN[:end].rstrip("\n#").endswith(")")
        assert not reply.bad
    assert not read_tuple_records(CLEAN, kinds, gleaning=False)[1]


@pytest.mark.parametrize(
    ("reply", "cut"),
    [
        ('("entity"<|>A<|>GEO<|>x)\n##\n("entity"<|>B<|>GEO<|>y (z)', True),
        ('("entity"<|>A<|>GEO<|>x)\n##\n("enti', True),
        ('("entity"<|>A<|>GEO<|>x', True),
        ('("entity"<|>A<|>GEO<|>x\n<|COMPLETE|>', False),
        ('("entity"<|>A<|>GEO<|>x)', False),
        ('("entity"<|>A<|>GEO<|>x)\nThese are all.', False),
        ('("entity"<|>A<|>GEO<|>x)\n2. ("enti', True),
        ('("entity"<|>A<|>GEO<|>x\n##\n("entity"<|>B<|>GEO<|>y', True),
        ("entity<|>A<|>GEO<|>x", False),
    ],
)
def test_a_last_record_without_its_end_is_cut_off(reply: str, cut: bool) -> None:
    assert parse_tuples(reply).cut is cut


def test_the_end_mark_of_a_turn_does_not_swallow_the_first_record_of_the_next() -> None:
    glued = CLEAN + CLEAN
    assert len(parse_tuples(glued).records) == 6
    assert fields(glued, "relationship") == fields(CLEAN, "relationship") * 2


def test_words_without_any_field_are_noise() -> None:
    parsed = parse_tuples("I am sorry, I cannot do that.")
    assert (parsed.records, parsed.noise, parsed.complete) == ([], ["I am sorry, I cannot do that."], False)


def test_claims_are_read() -> None:
    body = "ACME<|>NONE<|>FINE<|>TRUE<|>2019<|>NONE<|>Acme was fined<|>It was fined."
    (claim,) = parse_tuples(f'("claim"<|>{body})').records
    assert claim.fields.values["description"] == "Acme was fined"
    assert claim.fields.values["quotes"] == "It was fined."


FIELD_TEXT = st.text(st.sampled_from("abcXYZ äß.,'()#-0189\"\n"), min_size=1, max_size=20)
WORD = st.text(st.sampled_from("abcdefXYZ"), min_size=1, max_size=8)


@given(
    st.lists(st.tuples(WORD, WORD, WORD), min_size=1, max_size=8),
    st.sampled_from(["##", "\n##\n", "\n", "## \n## \n"]),
)
def test_every_written_record_comes_back(records: list[tuple[str, str, str]], between: str) -> None:
    reply = between.join(f'("entity"<|>{n}<|>{t}<|>{d})' for n, t, d in records) + "<|COMPLETE|>"
    assert fields(reply, "entity") == records
    assert mended(reply) == []


@given(
    st.lists(
        st.one_of(
            FIELD_TEXT,
            st.sampled_from(
                [
                    "<|>",
                    "##",
                    '("entity"<|>',
                    '("relationship"<|>',
                    "<|COMPLETE|>",
                    ")",
                    "{tuple_delimiter}",
                    "|>",
                    "```",
                ]
            ),
        ),
        max_size=30,
    )
)
def test_nothing_is_lost_whatever_the_reply(parts: list[str]) -> None:
    reply = "".join(parts)
    parsed = parse_tuples(reply)
    kept = "".join([*(r.raw for r in parsed.records), *(raw for raw, _ in parsed.quarantined), *parsed.noise])
    for letter in "abcXYZäß":
        # The end mark is the only word that belongs to nothing.
        assert kept.count(letter) >= re.sub(r"<\|COMPLETE\|>", "", reply).count(letter)
