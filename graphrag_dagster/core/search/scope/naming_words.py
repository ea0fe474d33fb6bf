"""Words of a question that show that a document, and not a thing, is meant."""

#: Kinds of documents.
DOCUMENTS = frozenset(
    {
        *(
            "account",
            "accounts",
            "agenda",
            "article",
            "book",
            "brief",
            "briefing",
            "bulletin",
            "call",
            "chapter",
        ),
        *("conference", "decision", "diary", "document", "edition", "email", "entry", "episode", "evidence"),
        *("filing", "file", "hearing", "interview", "issue", "journal", "letter", "log", "manual", "meeting"),
        *(
            "memo",
            "memorandum",
            "minutes",
            "newsletter",
            "note",
            "notes",
            "notice",
            "number",
            "paper",
            "podcast",
        ),
        *("presentation", "proceedings", "record", "recording", "release", "report", "results", "review"),
        *("session", "statement", "statements", "story", "study", "submission", "summary", "survey", "text"),
        *("transcript", "update", "volume"),
    }
)
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
