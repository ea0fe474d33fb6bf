"""The figures of an evaluation, each as a PNG for print and an SVG for the page."""
