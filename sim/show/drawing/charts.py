"""The kinds of chart used in reports: their Vega-Lite specifications and their rendering as SVG.

A value is a mapping with the fields that the chart names. Each mark describes its own value in words (``said``):
screen readers read this text, and tests compare it with the results.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import vl_convert

from .palette import DOWN, GREY, INK, LINE, PART_COLOURS, SERIES, SOFT, UP

__all__ = ["bars", "change_bars", "draw", "line_panels", "panel_bars", "point_panels", "stacks", "stretch"]

#: The width of a chart that takes the full width of the page, without its axis.
WIDTH = 840
#: The first is the font whose widths are used for layout.
_FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
#: A reader may have none of these and use a wider font: DejaVu Sans, the only font of a minimal Debian, is a sixth
#: wider, and a quarter wider in bold. A drawing is therefore laid out with letters this many times as large as its own.
_ROOM = 1.25
#: The font size used for layout.
_SMALL, _LARGE = 12 * _ROOM, 13 * _ROOM
_SIZE = re.compile(r'(?<=font-size=")([0-9.]+)(?=px")')
#: The maximum width of an axis label.
_LABEL = 600
#: The same for two panels side by side; if a label is longer, the panels are stacked.
_SHORT_LABEL = 320
#: The approximate width of a letter.
_LETTER = math.ceil(6 * _ROOM)
#: How each direction of a change is drawn. The shape carries the same information as the colour.
_DIRECTIONS = {"less": (DOWN, "triangle-down"), "more": (UP, "triangle-up"), "the same": (GREY, "circle")}

Values = Sequence[Mapping[str, Any]]


def draw(chart: Mapping[str, Any]) -> str:
    """Return a chart as SVG, in light colours, with no background and with space for the letters of any common font."""
    return _SIZE.sub(lambda size: f"{float(size[0]) / _ROOM:g}", vl_convert.vegalite_to_svg(dict(chart)))


def stretch(count: int, least: int, most: int, each: int) -> int:
    """Return a width or height for ``count`` things."""
    return max(least, min(most, each * count))


def _order(values: Values, field: str) -> list[Any]:
    return list(dict.fromkeys(value[field] for value in values))


def _data(values: Values) -> alt.InlineData:
    return alt.InlineData(values=[dict(value) for value in values])


def _finish(chart: Any) -> dict[str, Any]:
    """Apply the page's fonts and colours."""
    axes: Any = {"labelColor": INK, "titleColor": INK, "labelFontSize": _SMALL, "titleFontSize": _SMALL,
                 "titleFontWeight": "normal", "labelLimit": _LABEL}
    return (
        chart.configure(background="transparent", font=_FONT, padding={"left": 24, "right": 24, "top": 4, "bottom": 4})
        .configure_view(stroke=None)
        # Without maxExtent, the title of an axis is at most 200 pixels away, and so in long labels.
        .configure_axis(**axes, gridColor=LINE, tickColor=LINE, domainColor=SOFT, maxExtent=_LABEL)
        .configure_legend(**axes, titleLimit=_LABEL, orient="top", symbolSize=120, symbolStrokeWidth=0,
                          columnPadding=20, rowPadding=3, titlePadding=6)
        .configure_header(**(axes | {"labelFontSize": _LARGE}), labelFontWeight="bold")
        .configure_title(color=INK, font=_FONT)
        .to_dict()
    )


def _panels(chart: Any, values: Values, columns: int = 1, *, own_axes: Sequence[str] = ()) -> Any:
    """Make one chart for each value of ``panel``, if there is more than one."""
    names = _order(values, "panel")
    if len(names) < 2 and not (names and names[0]):
        return chart.properties(data=_data(values))
    faceted = chart.properties(data=_data(values)).facet(
        facet=alt.Facet("panel:N", sort=names, title=None,
                        header=alt.Header(labelOrient="top", labelAnchor="start", labelPadding=4)),
        columns=columns, spacing={"row": 22, "column": 28},
    )
    return faceted.resolve_scale(**dict.fromkeys(own_axes, "independent")) if own_axes else faceted


def _below(groups: Sequence[Any], width: int = 0) -> alt.Axis:
    """The axis with the names of ``groups`` over ``width``: horizontal if each name fits, else vertical."""
    longest = max((len(str(group)) for group in groups), default=0)
    fits = _LETTER * (longest + 1) * len(groups) <= width
    return alt.Axis(labelAngle=0 if fits else -90, labelOverlap=False, ticks=False)


def bars(
    values: Values, *, series: Mapping[str, str], title: str, legend: str, groups_are: str,
    rule: float | None = None, height: int = 190,
) -> dict[str, Any]:
    """Groups of vertical bars.

    ``values`` have ``group``, ``series``, ``value``, ``panel``, ``said``; ``series`` has the colour of each, in order,
    and ``groups_are`` is the axis title for the groups.
    """
    used = {name: colour for name, colour in series.items() if name in {value["series"] for value in values}}
    groups = _order(values, "group")
    width = stretch(len(groups) * (len(used) + 1), 260, WIDTH, 26)
    top = max([value["value"] for value in values] + [0.0 if rule is None else 1.1 * rule])
    scale = alt.Scale(domain=[0, top], nice=True)
    mark = alt.Chart().mark_bar().encode(
        x=alt.X("group:N", sort=groups, title=groups_are, axis=_below(groups, width)),
        xOffset=alt.XOffset("series:N", scale=alt.Scale(domain=list(used))),
        y=alt.Y("value:Q", title=title, axis=alt.Axis(tickCount=5), scale=scale),
        color=alt.Color("series:N", title=legend, scale=alt.Scale(domain=list(used), range=list(used.values())),
                        legend=alt.Legend(columns=3)),
        description="said:N",
    )
    chart: Any = mark
    if rule is not None:
        chart = alt.layer(mark, alt.Chart().mark_rule(color=INK, strokeDash=[4, 3], aria=False).encode(
            y=alt.datum(rule)
        ))
    return _finish(_panels(chart.properties(width=width, height=height), values))


def panel_bars(
    values: Values, *, title: str, colours: Mapping[str, str], legend: str, bars_are: str = "scheme",
    rule: float | None = None, own_axis: bool = True, form: str = "~r",
) -> dict[str, Any]:
    """Horizontal bars, one panel for each ``panel``: ``values`` have ``panel``, ``bar``, ``value``, ``kind``, ``said``.

    ``bars_are`` is the axis title for the bars. ``form`` is the d3 format of the numbers on the other axis.
    """
    used = {name: colour for name, colour in colours.items() if name in {value["kind"] for value in values}}
    names = _order(values, "bar")
    mark = alt.Chart().mark_bar().encode(
        y=alt.Y("bar:N", sort=names, title=bars_are, axis=alt.Axis(ticks=False)),
        x=alt.X("value:Q", title=title, axis=alt.Axis(tickCount=4, format=form, labelOverlap=True)),
        color=alt.Color("kind:N", title=legend, scale=alt.Scale(domain=list(used), range=list(used.values())),
                        legend=alt.Legend(columns=6) if len(used) > 1 else None),
        description="said:N",
    )
    chart: Any = mark
    if rule is not None:
        chart = alt.layer(mark, alt.Chart().mark_rule(color=INK, strokeDash=[4, 3], aria=False).encode(
            x=alt.datum(rule)
        ))
    columns, width = _panel_size(names)
    chart = chart.properties(width=width, height={"step": 15})
    return _finish(_panels(chart, values, columns, own_axes="x" if own_axis else ""))


def _panel_size(names: Sequence[str]) -> tuple[int, int]:
    """The number of panels side by side, and the width left for each beside the names of the bars."""
    labels = min(_LABEL, _LETTER * max((len(str(name)) for name in names), default=0))
    columns = 2 if labels <= _SHORT_LABEL else 1
    return columns, max(140, (WIDTH + 30 - (columns - 1) * 28 - labels) // columns)


def stacks(values: Values, *, names: Mapping[str, str], title: str, bars_are: str = "scheme") -> dict[str, Any]:
    """Horizontal stacked bars of shares: ``values`` have ``panel``, ``bar``, ``part``, ``order``, ``value``, ``said``.

    ``names`` maps the columns of :data:`PART_COLOURS` to the names of the parts.
    """
    parts = {value["part"] for value in values}
    columns, width = _panel_size(_order(values, "bar"))
    used = {name: PART_COLOURS[column] for column, name in names.items() if name in parts}
    mark = alt.Chart().mark_bar().encode(
        y=alt.Y("bar:N", sort=_order(values, "bar"), title=bars_are, axis=alt.Axis(ticks=False)),
        x=alt.X("value:Q", title=title, stack="zero", scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=5)),
        color=alt.Color("part:N", title="use of the cycles", legend=alt.Legend(columns=7),
                        scale=alt.Scale(domain=list(used), range=list(used.values()))),
        order="order:Q",
        description="said:N",
    ).properties(width=width, height={"step": 15})
    return _finish(_panels(mark, values, columns))


def change_bars(values: Values, *, series: Mapping[str, str], title: str, groups_are: str) -> dict[str, Any]:
    """Bars for one change and marks for another, both in per cent; ``groups_are`` is the axis title for the groups.

    ``values`` have ``group``, ``series``, ``panel``, ``value``, ``said``; those of marks also ``mark``,
    ``direction`` (less, more, the same) and ``mark_said``.
    """
    groups = _order(values, "group")
    used = [name for name in series if name in {value["series"] for value in values}]
    x = alt.X("group:N", sort=groups, title=groups_are, axis=_below(groups))
    offset = alt.XOffset("series:N", scale=alt.Scale(domain=used))
    bar = alt.Chart().mark_bar().encode(
        x=x, xOffset=offset, y=alt.Y("value:Q", title=title),
        color=alt.Color("series:N", title="bars: change of cycles",
                        scale=alt.Scale(domain=used, range=[series[name] for name in used])),
        description="said:N",
    )
    mark = alt.Chart().transform_filter("isValid(datum.mark)").mark_point(filled=True, size=42, opacity=1).encode(
        x=x, xOffset=offset, y=alt.Y("mark:Q", title=title),
        shape=alt.Shape("direction:N", title="marks: accumulated load latency", scale=alt.Scale(
            domain=list(_DIRECTIONS), range=[shape for _, shape in _DIRECTIONS.values()]
        )),
        fill=alt.Fill("direction:N", title="marks: accumulated load latency", scale=alt.Scale(
            domain=list(_DIRECTIONS), range=[colour for colour, _ in _DIRECTIONS.values()]
        )),
        description="mark_said:N",
    )
    zero = alt.Chart().mark_rule(color=SOFT, aria=False).encode(y=alt.datum(0))
    chart = alt.layer(bar, zero, mark).properties(
        width=stretch(len(groups) * (len(used) + 1), 260, WIDTH, 20), height=200
    )
    return _finish(_panels(chart, values))


def point_panels(
    values: Values, *, series: Mapping[str, str], legend: str, shapes: str | None, groups_are: str, values_are: str,
) -> dict[str, Any]:
    """Points side by side over each group, with a line from the lowest to the highest value; one panel per ``panel``.

    ``values`` have ``panel``, ``group``, ``series``, ``shape``, ``low``, ``value``, ``high``, ``said``; ``series`` has
    the colour of each, in order. ``legend`` and ``shapes`` are the legend titles of series and shapes; if ``shapes`` is
    empty, these have no legend. ``groups_are`` and ``values_are`` are axis titles. Each panel has its own axes, which
    need not begin at 0.
    """
    used = {name: colour for name, colour in series.items() if name in {value["series"] for value in values}}
    kinds = _order(values, "shape")
    pairs = [{**value, "place": f"{kinds.index(value['shape'])} {list(used).index(value['series'])}"}
             for value in values]
    groups, width = _order(values, "group"), (WIDTH - 80) // 2
    x = alt.X("group:N", sort=groups, title=groups_are, axis=_below(groups, width))
    offset = alt.XOffset("place:N", scale=alt.Scale(domain=sorted({pair["place"] for pair in pairs})))
    colour = alt.Color("series:N", title=legend, scale=alt.Scale(domain=list(used), range=list(used.values())))
    scale = alt.Scale(zero=False, nice=True)
    hidden: dict[str, Any] = {"legend": None} if shapes is None else {}
    line = alt.Chart().mark_rule(strokeWidth=2, aria=False).encode(
        x=x, xOffset=offset, y=alt.Y("low:Q", title=values_are, scale=scale), y2="high:Q", color=colour,
    )
    point = alt.Chart().mark_point(filled=True, size=50, opacity=1).encode(
        x=x, xOffset=offset, color=colour,
        y=alt.Y("value:Q", title=values_are, scale=scale, axis=alt.Axis(tickCount=5, minExtent=48)),
        shape=alt.Shape("shape:N", title=shapes, scale=alt.Scale(domain=kinds), **hidden), description="said:N",
    )
    chart = alt.layer(line, point).properties(width=width, height=170)
    return _finish(_panels(chart, pairs, 2, own_axes=("x", "y", "xOffset")))


def line_panels(values: Values, *, x: str, y: str, legend: str) -> dict[str, Any]:
    """Lines over a common axis; one panel for each ``panel``, two side by side.

    ``values`` have ``panel``, ``line``, ``x``, ``y`` and ``said``, one text for each line. ``x``, ``y`` and ``legend``
    are the titles of the axes and of the legend. If there are more lines than colours, the colours repeat.
    """
    names = _order(values, "line")
    colours = [SERIES[number % len(SERIES)] for number in range(len(names))]
    chart = alt.Chart().mark_line(strokeWidth=1.5, interpolate="linear").encode(
        x=alt.X("x:Q", title=x, axis=alt.Axis(format="~s", tickCount=5)),
        y=alt.Y("y:Q", title=y, axis=alt.Axis(format="~s", tickCount=5)),
        color=alt.Color("line:N", title=legend, sort=names, scale=alt.Scale(domain=names, range=colours),
                        legend=alt.Legend(symbolType="stroke", symbolStrokeWidth=3, symbolSize=160)),
        description="said:N",
    ).properties(width=(WIDTH - 80) // 2, height=170)
    return _finish(_panels(chart, values, 2))
