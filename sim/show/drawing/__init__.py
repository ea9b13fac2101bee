"""Charts as Vega-Lite and SVG, and their colours, for all reports."""
