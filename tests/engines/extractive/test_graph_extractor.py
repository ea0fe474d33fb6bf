"""Entities and relationships without a model: what a reader would expect of each sentence."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphrag_dagster.engines.extractive.graph_extractor import ExtractiveGraphExtractor
from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.common.progress import listening
from graphrag_dagster.kernel.tasks.task_ports import TextUnit, UnitExtraction
from graphrag_dagster.kernel.text.text_similarity import normalise

Extract = Callable[[str], UnitExtraction]


@pytest.fixture(scope="module")
def extract() -> Extract:
    extractor = ExtractiveGraphExtractor(processes=1)

    def one(text: str) -> UnitExtraction:
        (found,) = extractor.extract([TextUnit("u", text)])
        return found

    return one


def types(found: UnitExtraction) -> dict[str, str]:
    return {entity.surface: entity.type for entity in found.entities}


def pairs(found: UnitExtraction, basis: str) -> set[frozenset[str]]:
    return {frozenset((r.source, r.target)) for r in found.relationships if r.basis == basis}


def mentions(found: UnitExtraction, text: str) -> dict[str, list[str]]:
    return {e.surface: [text[span.start : span.end] for span in e.spans] for e in found.entities}


class TestEntities:
    def test_types_follow_the_words_of_the_name(self, extract: Extract) -> None:
        found = extract(
            "Ingrid Vell works for the Skarnes Harbour Authority. She studied at the University of Averness. "
            "The ferry Lady Ingrith crossed Hallin Sound during Storm Agda."
        )
        assert types(found) == {
            "Ingrid Vell": "PERSON",
            "Skarnes Harbour Authority": "ORGANIZATION",
            "University of Averness": "ORGANIZATION",
            "Lady Ingrith": "VESSEL",
            "Hallin Sound": "GEO",
            "Storm Agda": "EVENT",
        }

    def test_numbers_dates_pronouns_and_common_nouns_are_none(self, extract: Extract) -> None:
        found = extract(
            "However, the company said last year that Dr. Ada Lund of London earned 5 million dollars on Monday. "
            "She was the second of 40% of them, and they left in March 2021."
        )
        assert set(types(found)) == {"Ada Lund", "London"}

    def test_titles_articles_and_possessives_are_left_off(self, extract: Extract) -> None:
        found = extract(
            "The Ropewalk Museum’s curator, Professor Ada Lund, met Councillor Jan Holt in Paris."
        )
        assert set(types(found)) == {"Ropewalk Museum", "Ada Lund", "Jan Holt", "Paris"}

    def test_offices_are_not_entities(self, extract: Extract) -> None:
        found = extract("Ada Lund, Chief Technology Officer of Nexora, met the Prime Minister in Paris.")
        assert set(types(found)) == {"Ada Lund", "Nexora", "Paris"}

    def test_names_held_together_by_and(self, extract: Extract) -> None:
        found = extract("Cyprian Vogt leads the Port and Pilotage Board. Jan Holt and Ada Lund met in Paris.")
        assert "Port and Pilotage Board" in types(found)
        assert {"Jan Holt", "Ada Lund"} <= set(types(found))

    def test_name_and_surface_agree(self, extract: Extract) -> None:
        found = extract("Ingrid Vell met Jan Holt at St Ronan’s Kirk in Paris.")
        for entity in found.entities:
            assert normalise(entity.surface) == entity.name
            assert entity.round == 0

    def test_the_description_is_the_best_sentence_word_for_word(self, extract: Extract) -> None:
        found = extract(
            "INGRID VELL\n\nWith Ingrid Vell away? Ingrid Vell is the chair\nof the Skarnes Harbour Authority "
            "in Skarnes. They saw Ingrid Vell."
        )
        (vell,) = [entity for entity in found.entities if entity.surface == "Ingrid Vell"]
        assert vell.description == "Ingrid Vell is the chair of the Skarnes Harbour Authority in Skarnes."


class TestWholeNames:
    @pytest.mark.parametrize(
        ("text", "name", "kind"),
        [
            ("She sang “Leave It to Joan” in Paris.", "Leave It to Joan", "WORK"),
            ('They read "Out of My Later Years," which is long.', "Out of My Later Years", "WORK"),
            ('The drummer James "Jimmy" Frise met Ada Lund.', 'James "Jimmy" Frise', "PERSON"),
            ("Her father served in World War I and later in Paris.", "World War I", "EVENT"),
            ("He spoke of Kim Jong-un in Paris.", "Kim Jong-un", "PERSON"),
            ("It won the Eurovision Song Contest 1995 in Dublin.", "Eurovision Song Contest 1995", "EVENT"),
            (
                "She joined the Ministry of Education and Research in Oslo.",
                "Ministry of Education and Research",
                "ORGANIZATION",
            ),
            ("Ada Lund lives in Washington, D.C. with her son.", "Washington, D.C.", "GEO"),
        ],
    )
    def test_what_belongs_to_a_name_is_part_of_it(
        self, extract: Extract, text: str, name: str, kind: str
    ) -> None:
        assert types(extract(text)).get(name) == kind

    def test_a_nickname_is_found_again(self, extract: Extract) -> None:
        text = 'The cartoonist James "Jimmy" Frise lived in Paris. Later Jimmy moved to London.'
        assert mentions(extract(text), text)['James "Jimmy" Frise'] == ['James "Jimmy" Frise', "Jimmy"]

    @pytest.mark.parametrize(
        ("text", "names"),
        [
            (
                "They wrote to Ada Lund in Paris From Jan Holt in London.",
                {"Ada Lund", "Paris", "Jan Holt", "London"},
            ),
            ("The Boston-based bank sued Ada Lund.", {"Boston", "Ada Lund"}),
            ("Ada Lund said “Yes” and “Please Call him back” in Paris.", {"Ada Lund", "Paris"}),
            ("“What’s Google?” asked Ada Lund in Paris.", {"Google", "Ada Lund", "Paris"}),
            (
                "Ada Lund and Jan Holt met Google and Microsoft.",
                {"Ada Lund", "Jan Holt", "Google", "Microsoft"},
            ),
        ],
    )
    def test_what_does_not_belong_is_not(self, extract: Extract, text: str, names: set[str]) -> None:
        assert set(types(extract(text))) == names

    def test_words_cut_at_line_ends_are_whole(self, extract: Extract) -> None:
        text = "Ingrid Vell met Jean-\nPierre Dubois at the Skarnes Harbour Author-\nity in Paris."
        found = extract(text)
        assert {"Jean-Pierre Dubois", "Skarnes Harbour Authority"} <= set(types(found))
        assert mentions(found, text)["Skarnes Harbour Authority"] == ["Skarnes Harbour Author-\nity"]

    def test_who_wrote_stands_on_a_line_of_its_own(self, extract: Extract) -> None:
        found = extract(
            "Memorandum to the board: losses of 23 November 2021 at Kelderwick\n"
            "From Quentin Maddern, claims director. 18 March 2022."
        )
        assert {"Kelderwick", "Quentin Maddern"} <= set(types(found))


class TestKinds:
    @pytest.mark.parametrize(
        ("text", "name", "kind"),
        [
            ("The film was directed by Randee Halloway in Paris.", "Randee Halloway", "PERSON"),
            ("The suburbs of Fremont are near Paris.", "Fremont", "GEO"),
            ("The Olza river flows through Paris.", "Olza", "GEO"),
            ("Super Breakout is an arcade game made by Ada Lund.", "Super Breakout", "WORK"),
            ("Paulo Cruzeiro (born 5 May 1964) lives in Paris.", "Paulo Cruzeiro", "PERSON"),
        ],
    )
    def test_the_words_around_a_name_say_what_it_is(
        self, extract: Extract, text: str, name: str, kind: str
    ) -> None:
        assert types(extract(text))[name] == kind


class TestCanonicalNames:
    def test_short_forms_become_the_long_one(self, extract: Extract) -> None:
        text = (
            "Ingrid Vell leads the Skarnes Harbour Authority. Ms Vell says that the Harbour Authority is poor. "
            "The Authority denies it, and Vell knows that."
        )
        found = extract(text)
        assert mentions(found, text) == {
            "Ingrid Vell": ["Ingrid Vell", "Vell", "Vell"],
            "Skarnes Harbour Authority": ["Skarnes Harbour Authority", "Harbour Authority", "Authority"],
        }

    def test_a_surname_of_two_people_stays(self, extract: Extract) -> None:
        found = extract("Ingrid Vell met Magnus Vell in Paris. Then Ms Vell left.")
        assert {"Ingrid Vell", "Magnus Vell", "Vell"} <= set(types(found))

    def test_husband_and_wife_are_two(self, extract: Extract) -> None:
        found = extract("Mrs Cratchit, the wife of Bob Cratchit, met Mr Holt in London.")
        assert {"Mrs Cratchit", "Bob Cratchit"} <= set(types(found))

    def test_acronyms_in_brackets(self, extract: Extract) -> None:
        text = "The Skarnes Harbour Authority (SHA) failed. In May the SHA closed. Jan Holt saw it."
        found = extract(text)
        assert mentions(found, text)["Skarnes Harbour Authority"] == [
            "Skarnes Harbour Authority",
            "SHA",
            "SHA",
        ]

    def test_an_unclear_institution_is_dropped(self, extract: Extract) -> None:
        found = extract("Averness Town Council met Sundrey Burgh Council in Paris. The Council agreed.")
        assert set(types(found)) == {"Averness Town Council", "Sundrey Burgh Council", "Paris"}

    @pytest.mark.parametrize(
        ("text", "name", "kind"),
        [
            ("Firefox and Chrome run on Linux.", "Firefox", "PRODUCT"),
            ("Firefox and Chrome run on Linux.", "Linux", "PRODUCT"),
            ("They encrypt with TLS and ask DNS about Paris.", "TLS", "CONCEPT"),
            ("They encrypt with TLS and ask DNS about Paris.", "DNS", "CONCEPT"),
            ("Revenue of Azure Arc and Paris grew.", "Azure Arc", "PRODUCT"),
            ("Power Apps users met in Paris.", "Power Apps", "PRODUCT"),
            ("They deploy Marlow Deck via Nexora in Paris.", "Marlow Deck", "PRODUCT"),
        ],
    )
    def test_products_protocols_and_terms_are_no_people_and_no_places(
        self, extract: Extract, text: str, name: str, kind: str
    ) -> None:
        found = extract(text)
        assert (name, kind) in {(entity.surface, entity.type) for entity in found.entities}

    @pytest.mark.parametrize(
        ("text", "name"),
        [
            ("18F is an office in Washington. At 18F people write code.", "18F"),
            ("Ada Lund wrote it. mitmproxy is a proxy. People in Paris use mitmproxy daily.", "mitmproxy"),
            ("Ada Lund likes dns.Message. In Paris dns.Message is little known.", "dns.Message"),
            ("Ada Lund runs Node.js in Paris.", "Node.js"),
        ],
    )
    def test_names_that_begin_with_no_capital(self, extract: Extract, text: str, name: str) -> None:
        found = extract(text)
        assert name in {entity.surface for entity in found.entities}

    @pytest.mark.parametrize(
        ("text", "names"),
        [
            ("Ada Lund paid 2M for 3D models. 2M is much. 3D works at 4K.", {"Ada Lund"}),
            ("Ada Lund came. code is a burden. The code is long.", {"Ada Lund"}),
            ("sugar is a pain, and sugar was dear to Ada Lund.", {"Ada Lund"}),
        ],
    )
    def test_measures_and_small_words_are_no_names(
        self, extract: Extract, text: str, names: set[str]
    ) -> None:
        found = extract(text)
        assert {entity.surface for entity in found.entities} == names

    @pytest.mark.parametrize(
        "text",
        [
            "Ada Lund wrote it.\n\n>>> Marlow = Nexora.open('Kelderwick')\n",
            "Marlow = Nexora(Kelderwick)\n```\n\nAda Lund wrote it.\n\n```python\nimport this\n```\n",
            "Ada Lund wrote the `Marlow` class, not `Nexora`.",
            "Ada Lund wrote it.\n\nheaders = {b'Marlow': [Nexora(b'Kelderwick')], b'Age': (1, 2)}\n",
        ],
    )
    def test_code_names_nothing(self, extract: Extract, text: str) -> None:
        found = extract(text)
        assert [entity.surface for entity in found.entities] == ["Ada Lund"]

    def test_a_figure_behind_a_person_is_no_version(self, extract: Extract) -> None:
        found = extract("| entities | Ingeborg Tallis 0.403, Ada Lund 0.52 | Paris |")
        assert ("Ingeborg Tallis", "PRODUCT") not in {(one.surface, one.type) for one in found.entities}

    def test_what_code_imports_is_a_product(self, extract: Extract) -> None:
        found = extract(
            "Nexora was written in Paris.\n\n```python\nimport nexora\n```\n\nAda Lund runs Nexora."
        )
        assert ("Nexora", "PRODUCT") in {(entity.surface, entity.type) for entity in found.entities}

    def test_what_a_heading_shares_with_the_text_in_small_letters_is_no_name(self, extract: Extract) -> None:
        found = extract("Real Estate Agents in Paris say that real estate is dear to Ada Lund.")
        assert "Real Estate" not in {entity.surface for entity in found.entities}

    def test_a_noun_that_names_share_is_none_of_theirs(self, extract: Extract) -> None:
        found = extract("Prices rose in the Richmond and Dallas Districts. Most Districts saw growth.")
        assert {entity.surface for entity in found.entities} == {"Richmond", "Dallas"}
        lakes = extract("The pass is midway between Aspen and Twin Lakes, near Paris.")
        assert "Twin Lakes" in {entity.surface for entity in lakes.entities}

    def test_a_given_name_that_only_the_recogniser_takes_for_a_place_is_the_person(
        self, extract: Extract
    ) -> None:
        found = extract("Satya Nadella leads the company. I'll hand it to Satya. Satya, thank you.")
        assert [(entity.surface, entity.type) for entity in found.entities] == [("Satya Nadella", "PERSON")]

    def test_a_place_that_is_a_given_name_too_stays_a_place(self, extract: Extract) -> None:
        found = extract("Virginia Woolf wrote much. She never saw Virginia.")
        assert ("Virginia", "GEO") in {(entity.surface, entity.type) for entity in found.entities}


class TestRelations:
    @pytest.mark.parametrize(
        ("text", "related"),
        [
            ("Ingrid Vell founded Morvane Tidal.", {"INGRID VELL", "MORVANE TIDAL"}),
            ("Nexora was founded by Ingrid Vell.", {"NEXORA", "INGRID VELL"}),
            ("Gideon Marwood sold the yard to Morvane Tidal.", {"GIDEON MARWOOD", "MORVANE TIDAL"}),
            ("Ingrid Vell is the chair of Skarnes Bank.", {"INGRID VELL", "SKARNES BANK"}),
            ("Jan Holt, director of the Marine Institute, slept.", {"JAN HOLT", "MARINE INSTITUTE"}),
            ("Jan Holt, Nexora's director, resigned.", {"JAN HOLT", "NEXORA"}),
            ("Apple CEO Tim Cook slept.", {"APPLE", "TIM COOK"}),
            ("Gideon Marwood, who owns Ketterick Shipyard, slept.", {"GIDEON MARWOOD", "KETTERICK SHIPYARD"}),
            ("Ingrid Vell agreed to buy Ketterick Shipyard.", {"INGRID VELL", "KETTERICK SHIPYARD"}),
        ],
    )
    def test_grammar_relates(self, extract: Extract, text: str, related: set[str]) -> None:
        assert frozenset(related) in pairs(extract(text), "verb")

    @pytest.mark.parametrize(
        ("text", "apart"),
        [
            ("Three former Apple engineers founded Nexora in 2011.", {"APPLE", "NEXORA"}),
            ("Employees of Apple sued Google.", {"APPLE", "GOOGLE"}),
            ("Apple's engineers joined Google.", {"APPLE", "GOOGLE"}),
        ],
    )
    def test_modifiers_and_possessors_do_not_act(self, extract: Extract, text: str, apart: set[str]) -> None:
        found = extract(text)
        assert frozenset(apart) not in pairs(found, "verb")
        assert frozenset(apart) in pairs(found, "co_occurrence")

    def test_conjunctions_share_the_relation(self, extract: Extract) -> None:
        found = extract("Ingrid Vell and Ada Lund bought Google and Skarnes Bank.")
        assert {
            frozenset((who, what))
            for who in ("INGRID VELL", "ADA LUND")
            for what in ("GOOGLE", "SKARNES BANK")
        } <= pairs(found, "verb")

    def test_one_record_per_pair_and_sentence(self, extract: Extract) -> None:
        text = "Ingrid Vell met Jan Holt, and Ingrid Vell thanked Jan Holt. Ingrid Vell left Jan Holt."
        found = extract(text)
        assert [(r.basis, r.strength) for r in found.relationships] == [("verb", 2.0), ("verb", 2.0)]
        assert [r.description for r in found.relationships] == [
            text[span.start : span.end] for r in found.relationships for span in r.spans
        ]

    def test_long_lists_do_not_relate_everything(self, extract: Extract) -> None:
        cities = [
            "London",
            "Paris",
            "Berlin",
            "Madrid",
            "Rome",
            "Vienna",
            "Lisbon",
            "Dublin",
            "Oslo",
            "Stockholm",
            "Helsinki",
            "Warsaw",
        ]
        found = extract(f"Trains went to {', '.join(cities[:-1])} and {cities[-1]}.")
        assert len(found.entities) >= 10
        assert len(found.relationships) <= 3 * len(found.entities)
        assert {name for r in found.relationships for name in (r.source, r.target)} == {
            entity.name for entity in found.entities
        }

    def test_who_speaks_does_not_act_on_what_is_said(self, extract: Extract) -> None:
        found = extract("KEVIN SCOTT: Welcome to Google, Ada Lund.\n\nKEVIN SCOTT: Of Google I know little.")
        assert "Kevin Scott" in types(found)
        assert frozenset(("KEVIN SCOTT", "GOOGLE")) in pairs(found, "co_occurrence")
        assert frozenset(("KEVIN SCOTT", "GOOGLE")) not in pairs(found, "verb")


class TestText:
    def test_markdown_marks_addresses_and_code_are_no_names(self, extract: Extract) -> None:
        text = (
            "# The Fire And Its Causes\n\n"
            "* **Ingrid Vell** met [Jan Holt](https://example.org/Some_Page) and _Ada Lund_ in Paris.\n"
            "* See https://example.org/Big_Report or write to Some.One@Example.org.\n\n"
            "```\nclass BigThing(Some Class): pass\n```\n"
        )
        found = extract(text)
        assert set(types(found)) == {"Ingrid Vell", "Jan Holt", "Ada Lund", "Paris"}
        assert mentions(found, text)["Jan Holt"] == ["Jan Holt"]

    def test_headlines_in_capitals_name_nothing(self, extract: Extract) -> None:
        found = extract("FIRE GUTS AUCTION HALL IN PARIS\nBY OUR OWN STAFF\n\nIngrid Vell lives in Paris.")
        assert set(types(found)) == {"Ingrid Vell", "Paris"}

    def test_table_rows_are_read_and_table_heads_are_not(self, extract: Extract) -> None:
        found = extract(
            "| Full Name | Main Role |\n|---|---|\n| Ingrid Vell | chair of Skarnes Bank |\n| Ada Lund | pilot |\n"
        )
        assert set(types(found)) == {"Ingrid Vell", "Skarnes Bank", "Ada Lund"}

    def test_names_may_be_wrapped_but_not_run_over_short_lines(self, extract: Extract) -> None:
        text = (
            "I was appointed harbour master of the town of Kelderwick by the Port and\nPilotage Board in April "
            "2012, and I make this statement without any advice.\n\nIngrid Vell\nLondon, 2 May 2022\n"
        )
        found = extract(text)
        assert mentions(found, text)["Port and Pilotage Board"] == ["Port and\nPilotage Board"]
        assert not any("\nLondon" in words for many in mentions(found, text).values() for words in many)

    def test_emoji_and_east_asian_text_keep_spans_exact(self, extract: Extract) -> None:
        text = "🚢🚢 東京で会議が開かれた。Ingrid Vell met 田中さん and Ada Lund 🙂 in Paris. 終わり。"
        found = extract(text)
        assert mentions(found, text)["Ingrid Vell"] == ["Ingrid Vell"]
        assert mentions(found, text)["Paris"] == ["Paris"]

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("", "no text"),
            (" \n\t ", "no text"),
            ("```\ncode\n```", "no text"),
            ("it rained.", "no names found"),
        ],
    )
    def test_nothing_to_find_is_said(self, extract: Extract, text: str, reason: str) -> None:
        found = extract(text)
        assert (found.state, found.reason, found.entities, found.relationships) == ("empty", reason, (), ())

    def test_a_name_cut_off_by_the_unit_is_left_to_the_next(self, extract: Extract) -> None:
        found = extract("Ingrid Vell met some people in Paris, and later she wrote to Jan")
        assert set(types(found)) == {"Ingrid Vell", "Paris"}

    @settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.lists(
            st.one_of(
                st.text(max_size=12),
                st.sampled_from(
                    [
                        "Ingrid Vell",
                        " met ",
                        "Mr",
                        " (SHA)",
                        "\n",
                        "\n\n",
                        "**",
                        "| a | b |\n|--|--|\n",
                        "İNGRİD ß",
                        "# ",
                        "'s ",
                        " and ",
                        ". ",
                        "KEVIN SCOTT: ",
                        "```",
                        "[x](y)",
                        "the Board of ",
                        "\u200b",
                    ]
                ),
            ),
            max_size=25,
        )
    )
    def test_any_text_gives_an_answer_with_spans_in_range(self, extract: Extract, parts: list[str]) -> None:
        text = "".join(parts)
        found = extract(text)
        names = {entity.name for entity in found.entities}
        assert len(names) == len(found.entities)
        for record in (*found.entities, *found.relationships):
            assert record.spans
            assert record.description
            for span in record.spans:
                assert 0 <= span.start < span.end <= len(text)
                assert text[span.start : span.end].strip() == text[span.start : span.end]
        for relation in found.relationships:
            assert {relation.source, relation.target} <= names
            assert relation.source != relation.target


class TestEngine:
    TEXTS = (
        "Ingrid Vell founded Morvane Tidal in Skarnes.",
        "",
        "Jan Holt, director of the Marine Institute, wrote to Ada Lund about the fire in Paris. " * 5,
        "KEVIN SCOTT: I met Sam Altman at Stanford University in California.",
        "🚢 Nothing here.",
    )

    def test_results_depend_neither_on_neighbours_nor_on_processes(self) -> None:
        units = [TextUnit(f"u{number}", text) for number, text in enumerate(self.TEXTS * 4)]
        together = list(ExtractiveGraphExtractor(processes=1).extract(units))
        assert [found.unit_id for found in together] == [unit.id for unit in units]
        alone = [found for unit in units for found in ExtractiveGraphExtractor().extract([unit])]
        assert alone == together
        assert list(ExtractiveGraphExtractor(processes=2).extract(units)) == together
        reverse = list(ExtractiveGraphExtractor(processes=1).extract(units[::-1]))
        assert reverse[::-1] == together

    def test_a_long_unit_is_parsed_in_parts(self) -> None:
        text = "Ingrid Vell met Ada Lund in Paris. " * 2_000
        (found,) = ExtractiveGraphExtractor(processes=1).extract([TextUnit("u", text)])
        assert {entity.surface for entity in found.entities} == {"Ingrid Vell", "Ada Lund", "Paris"}
        assert len(found.entities[0].spans) == 2_000
        assert found.entities[0].spans[-1].end > 69_000

    def test_progress_is_told(self) -> None:
        heard: list[tuple[str, object]] = []

        class Hears:
            def start(self, stage: str, total: int | None) -> None:
                heard.append((stage, total))

            def advance(self, stage: str, steps: int) -> None:
                heard.append((stage, steps))

            def finish(self, stage: str) -> None:
                heard.append((stage, "end"))

        with listening(Hears()):
            list(
                ExtractiveGraphExtractor(processes=1).extract(
                    [TextUnit("a", "It rained."), TextUnit("b", "")]
                )
            )
        name = "Extracting entities and relationships"
        assert heard == [(name, 2), (name, 1), (name, 1), (name, "end")]

    @pytest.mark.parametrize("processes", [1, 2])
    def test_a_missing_pipeline_names_the_setting(self, processes: int) -> None:
        extractor = ExtractiveGraphExtractor("xx_not_installed", processes=processes)
        with pytest.raises(EngineError, match=r"extraction\.pipeline.*xx_not_installed.*[Ii]nstall"):
            list(extractor.extract([TextUnit("u", "Ingrid Vell."), TextUnit("v", "Ada Lund.")]))

    def test_no_units_need_no_pipeline(self) -> None:
        assert list(ExtractiveGraphExtractor("xx_not_installed").extract([])) == []


class TestNounPhrases:
    @pytest.fixture(scope="class")
    def extract(self) -> Extract:
        extractor = ExtractiveGraphExtractor(processes=1, noun_phrases=True)

        def one(text: str) -> UnitExtraction:
            (found,) = extractor.extract([TextUnit("u", text)])
            return found

        return one

    def test_they_come_behind_the_names_in_the_singular(self, extract: Extract) -> None:
        text = "The incubation period of the fever in Kelderwick was five days. Mild fevers end soon."
        found = extract(text)
        assert types(found) == {
            "Kelderwick": "GEO",
            "incubation period": "CONCEPT",
            "fever": "CONCEPT",
            "day": "CONCEPT",
            "Mild fever": "CONCEPT",
        }
        assert mentions(found, text)["day"] == ["days"]

    def test_they_are_related_by_the_grammar_alone(self, extract: Extract) -> None:
        found = extract("Older patients with lung disease develop severe pneumonia.")
        assert {(one.source, one.relation, one.target) for one in found.relationships} == {
            ("PATIENT", "with", "LUNG DISEASE"),
            ("PATIENT", "develop", "SEVERE PNEUMONIA"),
        }

    def test_what_has_no_names_is_no_longer_empty(self, extract: Extract) -> None:
        assert extract("Cold water slows the virus.").state == "extracted"
        assert extract("It is so.").state == "empty"
