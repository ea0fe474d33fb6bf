"""The corpora as tools of the Model Context Protocol."""
