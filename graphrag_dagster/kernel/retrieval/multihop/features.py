"""What speaks for a text unit as the next one, and how much each thing counts."""

#: What speaks for a unit by itself, and beside those that were taken before it.
DIRECT = (
    "words", "meaning", "home", "mention", "part", "sentence", "new_home", "new_mention", "new_words",
    "other_words", "sure_home", "later_words", "later_meaning", "later_home", "alike", "best_home",
    "new_sentence", "clause",
)  # fmt: skip
#: What speaks for a unit by the best way to it from a unit that was taken: through a name that stands there.
PATH = (
    "rare", "few", "fewer", "about", "stands", "beside", "related", "rest", "rest_words", "fewer_about",
    "fewer_beside", "about_beside", "about_rest", "about_rest_words", "rare_about", "rare_stands",
    "rare_rest_words", "source",
)  # fmt: skip
