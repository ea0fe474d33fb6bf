"""Tables made by one ``select`` each: queries with ``ref()``, what loads them, and their tests as data."""
