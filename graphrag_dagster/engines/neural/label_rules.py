"""Entity types of scientific texts, and rules that derive one from a name alone."""

import re
from collections.abc import Collection
from typing import Final

#: Labels that GLiNER chooses from where the settings name none.
SCIENTIFIC: Final = (
    "virus",
    "disease",
    "symptom",
    "drug",
    "vaccine",
    "gene",
    "protein",
    "diagnostic",
    "treatment",
    "transmission",
    "epidemiology",
    "public health",
    "host",
    "pathway",
    "immune response",
    "clinical trial",
    "organization",
    "measurement",
    "publication",
    "environment",
    "country",
    "region",
    "city",
    "person",
    "location",
    "event",
    "method",
    "substance",
    "molecule",
    "chemical",
    "bacteria",
)

#: A label and how names of it end, the surest first. Of words that stand alone the whole word is meant.
_ENDINGS: Final = (
    ("vaccine", r"\b(?:vaccines?|vaccinations?|toxoid)"),
    ("virus", r"virus(?:es)?|viridae|virinae|\bsars-cov(?:-\d)?|\bmers-cov|\bhiv(?:-\d)?|phages?"),
    ("bacteria", r"bacteri(?:a|um)|bacter|cocc(?:us|i)|bacill(?:us|i)|\bsalmonella|\be\. coli|spirochaetes?"),
    ("clinical trial", r"\b(?:clinical|controlled|randomi[sz]ed) (?:trials?|stud(?:y|ies))"),
    ("immune response", r"\bimmune responses?|\b(?:humoral|cellular|innate|adaptive) immunity"),
    ("pathway", r"\b(?:pathways?|signall?ing|cascades?)"),
    ("gene", r"\b(?:genes?|alleles?|oncogenes?)"),
    (
        "protein",
        r"\b(?:proteins?|receptors?|antibod(?:y|ies)|enzymes?|interleukins?(?:[- ]\d+)?|interferons?)"
        r"|\bil-\d+|globulins?|albumin|(?:kin|prote|polymer|transfer|transcript|oxid|reduct|synth|hydrol|lig|pept"
        r"id|nucle|phosphat|lip|helic)ases?|oglobin",
    ),
    (
        "drug",
        r"vir|mab|(?:ti|racl?i|fa?fe|mate)nib|cillin|[mt]hromycin|mycin|cyclines?|floxacin|oxacin|quine|statin"
        r"|prazole|conazole|nidazole|sartan|[aeiou]pril|olol|dipine|gliptin|glitazone|gliflozin|thiazide|semide"
        r"|azepam|barbital|caine|triptan|setron|parin|xaban|metha?sone|nisolone|nisone|profen|oxetine",
    ),
    ("treatment", r"\b(?:treatments?|surgery)|therap(?:y|ies)|ectomy|ostomy|plasty|\bventilation|\bdialysis"),
    ("diagnostic", r"\b(?:diagnos[ei]s|biops(?:y|ies)|assays?|pcr)|scopy|tomography|\w{3}graphy"),
    ("symptom", r"\b(?:symptoms?|fevers?|coughs?|fatigue|nausea|headaches?|rash)|algia|pn(?:o)?ea|\bpain"),
    (
        "disease",
        r"\b(?:diseases?|disorders?|syndromes?|infections?|cancers?|fibrosis|failure|covid-19|influenza|malaria)"
        r"|itis|[aeioubcdghmnpstx]osis|a?emia|carcinoma|sarcoma|lymphoma|melanoma|[bclmpr]oma|pneumonia|pathy"
        r"|plegia|sclerosis|trophy|diabetes",
    ),
    (
        "organization",
        r"\b(?:universit(?:y|ies)|institutes?|hospitals?|ministry|organi[sz]ation|agency|inc\.?)",
    ),
    ("measurement", r"\b(?:ratios?|scores?|levels?|titers?|titres?|counts?|index|rates?)"),
)
_RULES: Final = tuple((label, re.compile(rf"(?:{ending})\Z")) for label, ending in _ENDINGS)
#: Where these begin a name it is an organisation, whatever it ends with.
_ORGANIZATION_PREFIXES: Final = re.compile(
    r"(?:university|institute|ministry|department|centers?|centres?) (?:of|for) "
)


def label_by_name(name: str, labels: Collection[str]) -> str | None:
    """Return what a name says about its kind, by how it ends; None where it says nothing.

    Args:
        name: as written.
        labels: those that may be chosen, in any case; a rule for another has no say.

    >>> label_by_name("Remdesivir", ["drug", "disease"])
    'drug'
    """
    own = {label.casefold(): label for label in labels}
    folded = " ".join(name.split()).casefold()
    if "organization" in own and _ORGANIZATION_PREFIXES.match(folded):
        return own["organization"]
    return next((own[label] for label, rule in _RULES if label in own and rule.search(folded)), None)
