"""Words of a question that show that a document, and not a thing, is meant."""

#: What calls something by its name.
CALLED = frozenset({"called", "entitled", "titled", "named", "headed"})
FOLDERS = frozenset({"folder", "directory", "subfolder"})
#: What leads away from a period.
BEYOND = frozenset({"before", "after", "since", "until", "till", "prior", "following", "than"})
#: What makes a number that follows a year.
IN_TIME = frozenset(
    {
        *(
            "in",
            "of",
            "for",
            "during",
            "from",
            "to",
            "and",
            "by",
            "the",
            "year",
            "throughout",
            "early",
            "late",
        ),
        *("mid", "between", "this", "that", "on"),
    }
)
#: Keys of metadata whose values are places.
PLACES = frozenset({"place", "location", "city", "town", "country", "region", "venue", "site", "state"})
