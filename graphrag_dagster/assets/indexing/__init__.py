"""From the corpus folder to communities, reports and vectors."""
