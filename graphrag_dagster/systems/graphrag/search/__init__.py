"""Search methods: one module each."""
