"""``python -m graphrag_dagster``: the command line, for where its script is not on the path."""

from graphrag_dagster.cli import main

if __name__ == "__main__":
    main()
