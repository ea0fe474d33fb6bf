"""What runs are given and people configure: warehouse, corpora, models, executors, the instance."""
