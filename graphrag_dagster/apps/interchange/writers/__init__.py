"""Writing an index in the forms that other tools read: pure writers over batches of rows."""
