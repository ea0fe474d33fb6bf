"""From a folder of files to documents and text units."""
