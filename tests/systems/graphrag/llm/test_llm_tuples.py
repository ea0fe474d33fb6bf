import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.models.chat.reply_parsing import CutOff, NotUsable
from graphrag_dagster.systems.graphrag.llm.record_parsing import RawReply, read_tuple_records

CLEAN = (
    '("entity"<|>FED<|>ORGANIZATION<|>The central bank)\n##\n'
    '("entity"<|>JEROME POWELL<|>PERSON<|>Its chair (since 2018))\n##\n'
    '("relationship"<|>JEROME POWELL<|>FED<|>He chairs it<|>9)\n<|COMPLETE|>'
)


def read(reply: str) -> RawReply:
    # In a gleaning a reply without any record is one too.
    return read_tuple_records(reply, ("entity", "relationship", "claim"), gleaning=True)[0]


def fields(reply: str, kind: str) -> list[tuple[object, ...]]:
    return [tuple(record.fields.values()) for record in read(reply).records if record.kind == kind]


def repaired(reply: str) -> int:
    return sum(record.repaired for record in read(reply).records)


def test_clean_records_need_no_repair() -> None:
    reply, whole = read_tuple_records(CLEAN, ("entity", "relationship"))
    assert fields(CLEAN, "entity") == [
        ("FED", "ORGANIZATION", "The central bank"),
        ("JEROME POWELL", "PERSON", "Its chair (since 2018)"),
    ]
    assert fields(CLEAN, "relationship") == [("JEROME POWELL", "FED", "He chairs it", "9")]
    assert (len(reply.records), repaired(CLEAN), reply.bad, whole) == (3, 0, [], False)


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
    assert read(noisy).bad == []


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
    reply = read(f"{other}\n{CLEAN}" if other.endswith(")") else f"{other}<|COMPLETE|>{CLEAN}")
    assert [(raw, why) for _, raw, why in reply.bad] == [(other, reason)]
    assert len(reply.records) == 3


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
    assert len(read(reply).records) == 3
    assert not repaired(reply)


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
    if cut:
        with pytest.raises(CutOff):
            read(reply)
    else:
        read(reply)


def test_the_end_mark_of_a_turn_does_not_swallow_the_first_record_of_the_next() -> None:
    glued = CLEAN + CLEAN
    assert len(read(glued).records) == 6
    assert fields(glued, "relationship") == fields(CLEAN, "relationship") * 2


def test_words_without_any_field_are_no_records() -> None:
    refusal = "I am sorry, I cannot do that."
    assert read(refusal) == RawReply()
    with pytest.raises(NotUsable, match="no record and no end mark"):
        read_tuple_records(refusal, ("entity",))


def test_claims_are_read() -> None:
    body = "ACME<|>NONE<|>FINE<|>TRUE<|>2019<|>NONE<|>Acme was fined<|>It was fined."
    (claim,) = read(f'("claim"<|>{body})<|COMPLETE|>').records
    assert claim.fields["description"] == "Acme was fined"
    assert claim.fields["quotes"] == "It was fined."


FIELD_TEXT = st.text(st.sampled_from("abcXYZ äß.,'()#-0189\"\n"), min_size=1, max_size=20)
WORD = st.text(st.sampled_from("abcdefXYZ"), min_size=1, max_size=8)


@given(
    st.lists(st.tuples(WORD, WORD, WORD), min_size=1, max_size=8),
    st.sampled_from(["##", "\n##\n", "\n", "## \n## \n"]),
)
def test_every_written_record_comes_back(records: list[tuple[str, str, str]], between: str) -> None:
    reply = between.join(f'("entity"<|>{n}<|>{t}<|>{d})' for n, t, d in records) + "<|COMPLETE|>"
    assert fields(reply, "entity") == records
    assert not repaired(reply)


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
    reply = "".join(parts) + "<|COMPLETE|>"
    found = read(reply)
    kept = "".join([*(one.raw for one in found.records), *(raw for _, raw, _ in found.bad)])
    for mark in ("<|>", '("entity"<|>', '("relationship"<|>'):
        assert kept.count(mark) == reply.count(mark)
