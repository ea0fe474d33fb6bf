"""Claims without a model, and the dates of sentences."""

from collections.abc import Callable

import pytest

from graphrag_dagster.engines.extractive.claim_extraction import ExtractiveClaimExtractor, stated_period
from graphrag_dagster.kernel.tasks.task_ports import ClaimInstance, TextUnit

Claims = Callable[..., list[ClaimInstance]]


@pytest.fixture(scope="module")
def claims() -> Claims:
    extractor = ExtractiveClaimExtractor(processes=1)

    def of(text: str, *names: str) -> list[ClaimInstance]:
        (found,) = extractor.extract_claims([TextUnit("u", text)], [names])
        assert (found.state == "extracted") == bool(found.claims)
        assert bool(found.reason) != bool(found.claims)
        return list(found.claims)

    return of


def test_a_deed_with_object_type_and_date(claims: Claims) -> None:
    text = "It rained. Ingrid Vell founded Morvane Tidal on 29 September 2011."
    (claim,) = claims(text, "INGRID VELL", "MORVANE TIDAL")
    assert claim.subject == "INGRID VELL"
    assert claim.object == "MORVANE TIDAL"
    assert (claim.type, claim.status) == ("FOUND", "TRUE")
    assert (claim.start_date, claim.end_date) == ("2011-09-29", "2011-09-29")
    assert claim.description == "Ingrid Vell founded Morvane Tidal on 29 September 2011."
    assert [text[span.start : span.end] for span in claim.spans] == [claim.description]


def test_passives_and_prepositions(claims: Claims) -> None:
    (claim,) = claims("Nexora was bought by Ingrid Vell.", "NEXORA", "INGRID VELL")
    assert (claim.subject, claim.object, claim.type) == ("NEXORA", "INGRID VELL", "BUY")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Ingrid Vell did not sell the ship.", "FALSE"),
        ("Ingrid Vell never sold the ship.", "FALSE"),
        ("Ingrid Vell allegedly sold the ship.", "SUSPECTED"),
        ("Ingrid Vell may have sold the ship.", "SUSPECTED"),
        ("The police suspect that Ingrid Vell sold the ship.", "SUSPECTED"),
        ("Ingrid Vell sold the ship.", "TRUE"),
    ],
)
def test_status(claims: Claims, text: str, status: str) -> None:
    assert [claim.status for claim in claims(text, "INGRID VELL")] == [status]


@pytest.mark.parametrize(
    "text",
    [
        "Ingrid Vell is tall.",
        "Did Ingrid Vell sell the ship?",
        "They sold Ingrid Vell the ship.",
        "INGRID VELL SOLD THE SHIP",
        "",
    ],
)
def test_no_claim(claims: Claims, text: str) -> None:
    assert claims(text, "INGRID VELL") == []


def test_a_state_with_a_number_is_a_claim(claims: Claims) -> None:
    assert len(claims("Ingrid Vell has forty ships.", "INGRID VELL")) == 1


def test_only_known_entities_are_subjects(claims: Claims) -> None:
    assert claims("Ingrid Vell sold the ship.", "JAN HOLT") == []
    assert claims("Ingrid Vell sold the ship.") == []


def test_short_forms_and_names_of_another_engine(claims: Claims) -> None:
    found = claims("Ingrid Vell slept. Ms Vell sold a ship. The crew wrote a letter.", "INGRID VELL", "CREW")
    assert [(claim.subject, claim.type) for claim in found] == [
        ("INGRID VELL", "SLEEP"),
        ("INGRID VELL", "SELL"),
        ("CREW", "WRITE"),
    ]


def test_results_do_not_depend_on_processes() -> None:
    units = [TextUnit(str(n), f"Ingrid Vell sold {n + 2} ships in 20{n + 10}.") for n in range(6)]
    names = [("INGRID VELL",)] * 6
    one = list(ExtractiveClaimExtractor(processes=1).extract_claims(units, names))
    two = list(ExtractiveClaimExtractor(processes=2).extract_claims(units, names))
    assert one == two
    assert all(found.claims for found in one)


@pytest.mark.parametrize(
    ("sentence", "period"),
    [
        ("The plan was signed on 29 September 2021.", ("2021-09-29", "2021-09-29")),
        ("On September 29th, 2021 it was signed.", ("2021-09-29", "2021-09-29")),
        ("The file says 2021-09-29.", ("2021-09-29", "2021-09-29")),
        ("He was appointed in April 2012.", ("2012-04", "2012-04")),
        ("The bank failed in 1931.", ("1931", "1931")),
        ("She has been a member since 1997.", ("1997", None)),
        ("He served until 4 May 1951.", (None, "1951-05-04")),
        ("He led it from 2012 to 2015.", ("2012", "2015")),
        ("It ran between March 2012 and 2015.", ("2012-03", "2015")),
        ("The war (1914–1918) was long.", ("1914", "1918")),
        ("It was planned in 2012, delayed, and opened in 2015.", (None, None)),
        ("The plan had 2000 pages.", (None, None)),
        ("On 31 February 2021 nothing happened.", (None, None)),
        ("It cost 2,100 crowns.", (None, None)),
        ("Nothing happened.", (None, None)),
    ],
)
def test_periods(sentence: str, period: tuple[str | None, str | None]) -> None:
    assert stated_period(sentence) == period
