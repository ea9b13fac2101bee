"""A generated page, read back without any of the code that has made it."""

import base64
import csv
import io
import re
import urllib.parse
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "rect", "input"}
#: Attributes from which a browser loads something or to which it goes.
LOADING = {"src", "href", "xlink:href", "srcset", "data", "action", "poster"}


@dataclass
class Mark:
    """A bar or a point: what it says of itself, and its shape."""

    label: str
    role: str
    path: str
    fill: str

    @property
    def key(self):
        """What it is of: ``psort, btfn, lrr-gtlrr``."""
        return self.label.rpartition(": ")[0]

    @property
    def value(self):
        """The number that it says."""
        return float(re.search(r"-?\d+(\.\d+)?(e[+-]?\d+)?", self.label.rpartition(": ")[2])[0])

    @property
    def size(self):
        """Width and height of a bar."""
        found = re.fullmatch(r"M(\S+),(\S+)h(\S+)v(\S+)h(\S+)Z", self.path)
        return abs(float(found[3])), abs(float(found[4]))


@dataclass
class Item:
    """A figure or a table."""

    name: str
    kinds: str
    title: str = ""
    caption: str = ""
    marks: list = field(default_factory=list)
    links: dict = field(default_factory=dict)
    head: list = field(default_factory=list)
    rows: list = field(default_factory=list)

    def csv(self):
        """What its CSV has: the names, and the lines as mappings."""
        text = of_uri(self.links[f"{self.name}.csv"])
        return list(csv.DictReader(io.StringIO(text)))

    def lines(self):
        """The lines of a table's CSV as lists, without the names."""
        return list(csv.reader(io.StringIO(of_uri(self.links[f"{self.name}.csv"]))))[1:]


def of_uri(uri):
    head, _, body = uri.partition(",")
    return base64.b64decode(body).decode() if head.endswith(";base64") else urllib.parse.unquote(body)


class Page(HTMLParser):
    """Figures and tables by name, the text, and whatever a browser would load."""

    def __init__(self, text):
        super().__init__()
        self.items, self.loaded, self.tags, self.text = {}, [], [], ""
        self.open, self.item, self.cell = [], None, None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, pairs):
        attributes = dict(pairs)
        self.tags.append(tag)
        self.loaded += [(tag, attributes[name]) for name in LOADING & attributes.keys()]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "figure":
            self.item = Item(attributes["id"], attributes.get("class", ""))
            self.items[self.item.name] = self.item
        if self.item is None:
            return
        if tag == "a" and "download" in attributes:
            self.item.links[attributes["download"]] = attributes["href"]
        if tag == "path" and attributes.get("role") == "graphics-symbol":
            self.item.marks.append(Mark(
                attributes["aria-label"], attributes["aria-roledescription"], attributes["d"], attributes.get("fill")
            ))
        if tag == "tr" and "tbody" in self.open:
            self.item.rows.append([])
        if tag in ("td", "th"):
            self.cell = ["", attributes.get("class", "").split()]

    def handle_startendtag(self, tag, pairs):
        self.handle_starttag(tag, pairs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()
        if tag == "figure":
            self.item = None
        elif tag == "td":
            self.item.rows[-1].append((self.cell[0], self.cell[1]))
        elif tag == "th":
            self.item.head.append(self.cell[0])

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.text += data
        if self.item is not None:
            if "figcaption" in self.open:
                self.item.caption += data
            elif "h3" in self.open:
                self.item.title += data
            elif self.open[-1] in ("td", "th"):
                self.cell[0] += data

    @property
    def figures(self):
        return {name: item for name, item in self.items.items() if "of-table" not in item.kinds}

    @property
    def tables(self):
        return {name: item for name, item in self.items.items() if "of-table" in item.kinds}


def number(shown):
    """A cell as a number, or its text."""
    plain = shown.replace("\u202f", "").replace("\u2212", "-").removesuffix("%").strip()
    try:
        return float(plain)
    except ValueError:
        return plain


def figure_problems(figure, expected, *, role="bar", per_panel=None):
    """In what the marks of a figure differ from ``expected``: what each is of -> its value.

    The sizes of bars must be in the ratio of their values; ``per_panel`` tells the panel from what a bar is of, where
    each panel has a scale of its own.
    """
    marks = [mark for mark in figure.marks if mark.role == role]
    said = {mark.key: mark for mark in marks}
    problems = [f"{key}: there is no mark" for key in expected.keys() - said.keys()]
    problems += [f"{key}: nobody has asked for this mark" for key in said.keys() - expected.keys()]
    problems += [f"{key}: marked twice" for key in said if sum(mark.key == key for mark in marks) > 1]
    scales = {}
    for key in expected.keys() & said.keys():
        value, mark = expected[key], said[key]
        if abs(mark.value - value) > 1e-5 * max(abs(value), 1e-9):
            problems.append(f"{key}: the mark says {mark.value}, the results {value}")
        if role == "bar" and abs(value) > 1e-3:
            scales.setdefault(per_panel(key) if per_panel else None, {})[key] = (value, mark.size)
    for bars in scales.values():
        problems += _unequal(bars)
    return problems


def _unequal(bars):
    """Bars whose length does not fit: their width or their height is the same share of the value in all of them."""
    longest = max(bars, key=lambda key: abs(bars[key][0]))
    value, sizes = bars[longest]
    off = []
    for axis in (0, 1):
        scale = sizes[axis] / abs(value)
        off.append([
            f"{key}: the bar is {size[axis]:.2f} long, not {abs(its) * scale:.2f}"
            for key, (its, size) in bars.items() if abs(size[axis] - abs(its) * scale) > 0.02 + 1e-4 * sizes[axis]
        ])
    return min(off, key=len)
