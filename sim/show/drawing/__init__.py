"""Charts as Vega-Lite and SVG, and their colours: what every report draws with."""
