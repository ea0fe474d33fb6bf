"""The language tasks done without a model: found, chosen and quoted, never invented."""
