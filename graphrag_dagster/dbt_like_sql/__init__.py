"""Tables made by one ``select`` each: models with ``ref()``, their loader, and their tests as data."""
