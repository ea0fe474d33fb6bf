"""The assets: thin, one file per group, each tables in, one call of the core, tables out."""
