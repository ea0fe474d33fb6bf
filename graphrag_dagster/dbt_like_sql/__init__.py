"""Tables made by one ``select`` each: queries with ``ref()``, their loader, and their tests as data."""
