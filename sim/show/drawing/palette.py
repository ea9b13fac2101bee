"""Colours: each has a value for light pages and one for dark pages, and a name as a CSS variable.

A chart is drawn in the light colours. On the page they become variables, so one drawing serves both themes.
The hues are close to those of Okabe 2008, which people with a colour vision deficiency can tell apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["DOWN", "FAMILIES", "GREY", "INK", "LINE", "PALETTE", "PART_COLOURS", "SERIES", "SOFT", "UP",
           "css_variables", "themed"]

#: Name -> light, dark. The light values are all different, because a colour is found in a drawing by its light value.
PALETTE: Mapping[str, tuple[str, str]] = {
    "ink": ("#1c2126", "#e6e9ec"),
    "soft": ("#555d66", "#a9b2bb"),
    "line": ("#d3d8dd", "#3a424b"),
    "blue-1": ("#004a78", "#9ad0f5"), "blue-2": ("#0072b2", "#4aa3df"), "blue-3": ("#5fb0e5", "#1f6ea8"),
    "orange-1": ("#8f3d00", "#ffc08a"), "orange-2": ("#d55e01", "#f08330"), "orange-3": ("#f2a15f", "#a9500c"),
    "green-1": ("#005c44", "#8fe0c4"), "green-2": ("#009e73", "#2fbf94"), "green-3": ("#66cbab", "#147d60"),
    "grey": ("#8a929a", "#818a93"),
    "purple": ("#b05a8c", "#d48ab8"), "yellow": ("#d9b800", "#e8d44d"), "cyan": ("#3bbccc", "#86e4f0"),
    "violet": ("#6a4fa3", "#a48de0"), "brown": ("#7a5230", "#b98a5e"), "black": ("#30363c", "#c9d0d6"),
    "pale": ("#aab2ba", "#59626b"), "rose": ("#e58fa0", "#f4b3bf"), "olive": ("#7d8b1a", "#9aab3a"),
    "up": ("#c1272d", "#ff7b72"), "down": ("#1a7f37", "#56d364"),
}


def _light(name: str) -> str:
    return PALETTE[name][0]


INK, LINE, SOFT, GREY = _light("ink"), _light("line"), _light("soft"), _light("grey")
UP, DOWN = _light("up"), _light("down")
#: Three hues in three shades each: one colour for each pair of fetch and issue policy.
FAMILIES: Sequence[Sequence[str]] = [
    [_light(f"{hue}-{shade}") for shade in (1, 2, 3)] for hue in ("blue", "green", "orange")
]
#: For things that have no order.
SERIES = [_light(name) for name in ("blue-2", "orange-2", "green-2", "purple", "yellow", "cyan", "brown", "grey")]
#: Column with a part of the cycles -> its colour.
PART_COLOURS = {
    "committed": _light("blue-2"), "nops": _light("yellow"), "stalls.load": _light("orange-2"),
    "stalls.data": _light("orange-3"), "stalls.unit": _light("purple"), "stalls.writeback": _light("rose"),
    "stalls.drain": _light("brown"), "stalls.icache": _light("green-2"), "stalls.control": _light("cyan"),
    "stalls.barrier": _light("violet"), "stalls.buffer": _light("black"), "stalls.idle": _light("pale"),
    "stalls.policy": _light("olive"),
}


def css_variables(dark: bool) -> str:
    """Return the declarations of all variables."""
    return " ".join(f"--{name}: {values[dark]};" for name, values in PALETTE.items())


def themed(drawing: str) -> str:
    """Return the drawing with its colours replaced by variables."""
    for name, (light, _) in PALETTE.items():
        drawing = drawing.replace(f'"{light}"', f'"var(--{name})"')
    return drawing
