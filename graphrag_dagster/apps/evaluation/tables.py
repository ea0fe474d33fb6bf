"""Tables of the evaluation: judgements, claims, measures, statistics, and studies of single settings."""

from graphrag_dagster.kernel.tables.table_declaration import ENGINE, Column, Table, column, repaired

CRITERIA = ("comprehensiveness", "diversity", "empowerment", "directness")

_ANSWER = column("answer_id", "VARCHAR", "Answer", ref="answers.answers.answer_id")
_QUESTION = column("question_id", "VARCHAR", "Question", ref="questions.questions.question_id")
_CRITERION = column("criterion", "VARCHAR", "Criterion of the comparison", values=CRITERIA)
_A = column("condition_a", "VARCHAR", "Search method")
_B = column("condition_b", "VARCHAR", "The other search method")
_MEASURE = column("measure", "VARCHAR", "A criterion of the judge, or a measure of the answers' claims")
_CONDITION = column("condition", "VARCHAR", "Search method")


def _interval(of: str) -> tuple[Column, Column]:
    return (
        column(
            "ci_low",
            "DOUBLE",
            f"Lower end of the 95 % bootstrap interval of {of}, not corrected; null if all values are equal",
            nullable=True,
        ),
        column("ci_high", "DOUBLE", "Its upper end", nullable=True),
    )


def judgement_table(schema: str, name: str, meaning: str) -> Table:
    """Declare a table of judgements."""
    return Table(
        schema,
        name,
        schema,
        meaning,
        ("judgement_id",),
        (
            column("judgement_id", "VARCHAR", "Hash of question, pair, criterion and replicate"),
            _QUESTION,
            _A,
            _B,
            _CRITERION,
            column("replicate", "INTEGER", "0…"),
            column("first", "VARCHAR", "Search method whose answer was shown first"),
            column(
                "winner", "VARCHAR", "Search method with the better answer; null for a tie", nullable=True
            ),
            column("score_a", "DOUBLE", "100 if condition_a won, 0 if it lost, 50 for a tie"),
            column("reason", "VARCHAR", "The judge's reason, in its words"),
            column("problem", "VARCHAR", "Why no verdict could be used; it counts as a tie", nullable=True),
            repaired(),
            column("model", "VARCHAR", "The judge; null where no model was needed", nullable=True),
        ),
    )


JUDGEMENTS = judgement_table(
    "evaluation",
    "judgements",
    "One verdict on a pair of answers by one criterion, in one replicate (From Local to Global, §4.1.3)",
)

COMPARISONS = Table(
    "evaluation",
    "comparisons",
    "evaluation",
    "The replicates of a pair of answers and a criterion, combined",
    ("question_id", "condition_a", "condition_b", "criterion"),
    (
        _QUESTION,
        _A,
        _B,
        _CRITERION,
        column("replicates", "INTEGER", "Verdicts"),
        column("wins_a", "INTEGER", "Of these for condition_a"),
        column("wins_b", "INTEGER", "For condition_b"),
        column("ties", "INTEGER", "For neither"),
        column("unusable", "INTEGER", "Of the ties, those without a usable reply"),
        column("score_a", "DOUBLE", "Mean score of condition_a, 0–100; condition_b has 100 minus it"),
        column("label", "VARCHAR", "Winner of most replicates; null for a tie", nullable=True),
    ),
    sql=True,
)

WIN_RATES = Table(
    "evaluation",
    "win_rates",
    "evaluation",
    "Mean score of a search method against another (From Local to Global, Figure 2); both directions add up to 100",
    ("criterion", "condition", "opponent"),
    (
        _CRITERION,
        _CONDITION,
        column("opponent", "VARCHAR", "The other search method"),
        column("win_rate", "DOUBLE", "0–100"),
        column("questions", "INTEGER", "Questions that were judged"),
        column("ties", "DOUBLE", "Share of the verdicts that are ties"),
    ),
    sql=True,
)

POSITION_BIAS = Table(
    "evaluation",
    "position_bias",
    "evaluation",
    "How often the answer shown first won; a fair judge gives 50 %",
    ("criterion",),
    (
        column("criterion", "VARCHAR", "The criterion, or all"),
        column("judgements", "INTEGER", "Verdicts"),
        column("ties", "INTEGER", "Verdicts that are ties"),
        column("unusable", "INTEGER", "Of the ties, those without a usable reply"),
        column("first_wins", "INTEGER", "Verdicts won by the answer shown first"),
        column("share", "DOUBLE", "Share of the verdicts that are not ties; null without any", nullable=True),
        column("ci_low", "DOUBLE", "Lower end of its 95 % interval by Clopper and Pearson", nullable=True),
        column("ci_high", "DOUBLE", "Its upper end", nullable=True),
        column("p", "DOUBLE", "Exact binomial test, two-sided, against one half", nullable=True),
    ),
)

THEMES = Table(
    "evaluation",
    "themes",
    "evaluation",
    "Themes that a model found in the judge's reasons (From Local to Global, §5.1)",
    ("theme_id",),
    (
        column("theme_id", "VARCHAR", "Hash of criterion and theme"),
        _CRITERION,
        column(
            "position", "INTEGER", "Position among the themes of the criterion, from 0, most reasons first"
        ),
        column("theme", "VARCHAR", "The theme in a few words"),
        column("description", "VARCHAR", "When a reason counts as expressing it"),
        column("reasons", "INTEGER", "Reasons that express it; a reason may express several themes"),
        column("read", "INTEGER", "Reasons of the criterion that were read"),
        column("model", "VARCHAR", "Model that read them"),
    ),
)

THEME_REASONS = Table(
    "evaluation",
    "theme_reasons",
    "evaluation",
    "Themes that each sampled reason of the judge expresses",
    ("judgement_id",),
    (
        column("judgement_id", "VARCHAR", "Judgement", ref="evaluation.judgements.judgement_id"),
        _CRITERION,
        column("theme_ids", "VARCHAR[]", "Its themes, none or several"),
        column("problem", "VARCHAR", "Why it was not read: no usable reply", nullable=True),
    ),
)

ANSWER_SENTENCES = Table(
    "evaluation",
    "answer_sentences",
    "evaluation",
    "Outcome for every sentence of every answer: exactly one state each",
    ("answer_id", "position"),
    (
        _ANSWER,
        column("position", "INTEGER", "Position in the answer, from 0"),
        column("sentence", "VARCHAR", "The sentence, without citation marks"),
        column(
            "state",
            "VARCHAR",
            "Kept, rewritten to its verifiable part, left out, or lost",
            values=("kept", "rewritten", "not_verifiable", "ambiguous", "failed"),
        ),
        column("reason", "VARCHAR", "Why it was left out or lost", nullable=True),
        column("claims", "INTEGER", "Claims taken from it, duplicates included"),
        repaired(),
        ENGINE,
    ),
)

ANSWER_CLAIMS = Table(
    "evaluation",
    "answer_claims",
    "evaluation",
    "The atomic claims of the answers (From Local to Global, §4.1.3)",
    ("answer_id", "position"),
    (
        _ANSWER,
        column("position", "INTEGER", "Position in the answer, from 0"),
        column("sentence", "INTEGER", "Sentence it was taken from"),
        column("claim", "VARCHAR", "The claim"),
        column(
            "duplicate_of",
            "INTEGER",
            "Earlier claim of this answer with the same words; a repeated claim is not counted",
            nullable=True,
        ),
        ENGINE,
    ),
)

DIVERSITY_CLUSTERS = Table(
    "evaluation",
    "diversity_clusters",
    "evaluation",
    "Clusters of the distinct claims of each answer: complete linkage by ROUGE-L distance (From Local to Global, §4.1.3)",
    ("answer_id", "threshold", "position"),
    (
        _ANSWER,
        column("threshold", "DOUBLE", "Distance from which clusters are not merged"),
        column("position", "INTEGER", "The claim"),
        column(
            "cluster", "INTEGER", "Its cluster if only smaller distances are merged, as in the paper's tool"
        ),
        column(
            "cluster_inclusive",
            "INTEGER",
            "Its cluster if equal distances are merged too, as in the paper's text",
        ),
    ),
)

ANSWER_MEASURES = Table(
    "evaluation",
    "answer_measures",
    "evaluation",
    "Counts for each answer: one row per measure",
    ("answer_id", "measure"),
    (
        _ANSWER,
        _QUESTION,
        _CONDITION,
        _MEASURE,
        column("value", "DOUBLE", "The count or share"),
    ),
    sql=True,
)

CONDITION_COSTS = Table(
    "evaluation",
    "condition_costs",
    "evaluation",
    "Cost of each search method, whether or not its replies came from the LLM cache",
    ("condition",),
    (
        _CONDITION,
        column("answers", "INTEGER", "Answers"),
        column("refused", "INTEGER", "Of these, refusals"),
        column("context_rows", "DOUBLE", "Rows read for an answer, mean (From Local to Global, Table 2)"),
        column("context_tokens", "DOUBLE", "Tokens read for an answer, mean (From Local to Global, Table 2)"),
        column("calls", "DOUBLE", "Model calls for an answer, mean"),
        column("input_tokens", "DOUBLE", "Tokens sent for an answer, mean"),
        column("output_tokens", "DOUBLE", "Tokens received for an answer, mean"),
        column("usd", "DOUBLE", "US dollars of an answer, mean; null if a price is unknown", nullable=True),
        column("seconds", "DOUBLE", "Seconds for an answer, measured, median", nullable=True),
    ),
    sql=True,
)

CONDITION_MEANS = Table(
    "evaluation",
    "condition_means",
    "evaluation",
    "Means over the questions, with intervals (From Local to Global, Tables 3 and 4)",
    ("measure", "condition"),
    (
        _MEASURE,
        _CONDITION,
        column("questions", "INTEGER", "Questions"),
        column(
            "mean", "DOUBLE", "Mean; for a criterion, the mean win rate over all opponents", nullable=True
        ),
        *_interval("the mean"),
        column("shapiro_w", "DOUBLE", "Statistic W of Shapiro and Wilk", nullable=True),
        column("shapiro_p", "DOUBLE", "Its p", nullable=True),
        column("shapiro_reason", "VARCHAR", "Why there is no value", nullable=True),
    ),
)

SIGNIFICANCE = Table(
    "evaluation",
    "significance",
    "evaluation",
    "Wilcoxon's signed-rank test of every pair, corrected by Holm within its measure (From Local to Global, Table 6)",
    ("measure", "condition_a", "condition_b"),
    (
        _MEASURE,
        _A,
        _B,
        column("questions", "INTEGER", "Questions"),
        column("zeros", "INTEGER", "Of these, without a difference"),
        column("mean_a", "DOUBLE", "Mean of condition_a; for a criterion, its win rate"),
        column("mean_b", "DOUBLE", "Mean of condition_b"),
        column("difference", "DOUBLE", "mean_a minus mean_b"),
        *_interval("the difference"),
        column("z", "DOUBLE", "Normal approximation, from the smaller sum of ranks: never above 0"),
        column("p", "DOUBLE", "Two-sided; exact up to 25 questions with a difference, of z above"),
        column("p_holm", "DOUBLE", "p corrected by Holm within the pairs of the measure"),
        column("significant", "BOOLEAN", "p_holm is below 0.05"),
        column(
            "rank_biserial",
            "DOUBLE",
            "Direction and size of the effect: the difference of the rank sums for and against condition_a "
            "over their total, -1 to 1",
        ),
    ),
)

ALIGNMENT = Table(
    "evaluation",
    "alignment",
    "evaluation",
    "How often the judge's majority and the claims agree on the better answer (From Local to Global, §5.2)",
    ("criterion", "measure"),
    (
        _CRITERION,
        column("measure", "VARCHAR", "Measure of the answers' claims"),
        column("comparisons", "INTEGER", "Pairs of answers"),
        column("judge_ties", "INTEGER", "Pairs without a majority; left out"),
        column("agree", "INTEGER", "Pairs on which both agree"),
        column("disagree", "INTEGER", "Pairs on which they disagree; a tie of the claims is a disagreement"),
        column("claim_ties", "INTEGER", "Of the disagreements, those with a tie of the claims"),
        column("agreement", "DOUBLE", "Share of agreements; null without any pair", nullable=True),
    ),
)

VERDICTS = Table(
    "evaluation",
    "verdicts",
    "evaluation",
    "Whether the graph beats plain retrieval on this corpus: each search method against the baseline",
    ("measure", "condition"),
    (
        _MEASURE,
        _CONDITION,
        column("baseline", "VARCHAR", "The search method it is compared with"),
        column(
            "outcome",
            "VARCHAR",
            "Result of the corrected test; mixed if ranks and means point in different directions; unknown if "
            "the judge's verdicts are of no use or no test of so few questions could find a difference",
            values=("better", "worse", "mixed", "no difference", "unknown"),
        ),
        column("difference", "DOUBLE", "Its mean minus the baseline's"),
        column("p_holm", "DOUBLE", "Of Wilcoxon's test, corrected by Holm"),
        column("statement", "VARCHAR", "The result as a sentence"),
    ),
)

QUALITY_SCORES = Table(
    "evaluation",
    "quality_scores",
    "evaluation",
    "Relevancy, faithfulness, recall and precision of answers, and lexical measures under their own names",
    ("answer_id", "family", "metric"),
    (
        _ANSWER,
        column("family", "VARCHAR", "Source of the formula", values=("deepeval", "ragas", "lexical")),
        column("metric", "VARCHAR", "The metric"),
        column("value", "DOUBLE", "0–1; null if it is not defined", nullable=True),
        column("numerator", "DOUBLE", "What is divided: a number of verdicts, or a sum", nullable=True),
        column(
            "denominator",
            "DOUBLE",
            "What divides it; 0 beside a value: nothing of nothing counts as that value",
            nullable=True,
        ),
        column("reason", "VARCHAR", "Why there is no value", nullable=True),
        repaired(),
    ),
)

QUALITY_VERDICTS = Table(
    "evaluation",
    "quality_verdicts",
    "evaluation",
    "A judge's verdict on each statement or context that a metric counts",
    ("answer_id", "metric", "position"),
    (
        _ANSWER,
        column("metric", "VARCHAR", "Metric it was judged for"),
        column("position", "INTEGER", "Position, from 0"),
        column("statement", "VARCHAR", "The statement, or the beginning of the context"),
        column("verdict", "VARCHAR", "The verdict", values=("yes", "no", "idk")),
        column("reason", "VARCHAR", "Why", nullable=True),
    ),
)

TABLES = (
    JUDGEMENTS,
    COMPARISONS,
    WIN_RATES,
    THEMES,
    THEME_REASONS,
    POSITION_BIAS,
    ANSWER_SENTENCES,
    ANSWER_CLAIMS,
    DIVERSITY_CLUSTERS,
    ANSWER_MEASURES,
    CONDITION_COSTS,
    CONDITION_MEANS,
    SIGNIFICANCE,
    ALIGNMENT,
    VERDICTS,
    QUALITY_SCORES,
    QUALITY_VERDICTS,
)


EXTRACTION_COUNTS = Table(
    "studies",
    "extraction_counts",
    "studies",
    "Entity records by chunk size and number of gleanings (From Local to Global, Figure 3)",
    ("chunk_size", "mode", "gleanings"),
    (
        column("chunk_size", "INTEGER", "Tokens of a text unit"),
        column(
            "mode",
            "VARCHAR",
            "Ask before each continuation whether something is missing, or always continue",
            values=("checked", "forced"),
        ),
        column("gleanings", "INTEGER", "Continuations after the first reply"),
        column("text_units", "INTEGER", "Text units"),
        column("entities", "INTEGER", "Entity records of all rounds so far: the paper's entity references"),
        column("distinct_entities", "INTEGER", "Distinct names among them, as merged in the graph"),
        column("relationships", "INTEGER", "Relationship records of all rounds so far"),
        column("quarantined", "INTEGER", "Replies and records of all rounds so far that could not be used"),
        ENGINE,
    ),
)


WINDOW_ANSWERS = Table(
    "studies",
    "window_answers",
    "studies",
    "Answers of plain retrieval with different context windows (From Local to Global, Appendix C)",
    ("question_id", "window"),
    (
        column("question_id", "VARCHAR", "Question", ref="questions.questions.question_id"),
        column("window", "INTEGER", "Tokens of the context"),
        column("question", "VARCHAR", "The question"),
        column("text", "VARCHAR", "The answer"),
        column("refused", "BOOLEAN", "No answer was found in the context"),
        column("context_rows", "INTEGER", "Rows read"),
        column("context_tokens", "INTEGER", "Tokens read"),
        column("snapshot", "VARCHAR", "Published index that was read"),
        column("options", "VARCHAR", "Hash of the settings that decide the answer"),
        ENGINE,
    ),
)

WINDOW_JUDGEMENTS = judgement_table(
    "studies",
    "window_judgements",
    "One verdict on two answers with different context windows (From Local to Global, Appendix C)",
)

WINDOW_WIN_RATES = Table(
    "studies",
    "window_win_rates",
    "studies",
    "Mean score of a context window against all others (From Local to Global, Appendix C)",
    ("criterion", "window"),
    (
        column("criterion", "VARCHAR", "Criterion of the comparison", values=CRITERIA),
        column("window", "VARCHAR", "Tokens of the context"),
        column("win_rate", "DOUBLE", "0–100, mean over the other windows"),
        column("questions", "INTEGER", "Questions that were judged"),
    ),
    sql=True,
)

STUDY_TABLES = (
    EXTRACTION_COUNTS,
    WINDOW_ANSWERS,
    WINDOW_JUDGEMENTS,
    WINDOW_WIN_RATES,
)
