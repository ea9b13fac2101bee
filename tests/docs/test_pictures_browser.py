"""The drawings of the pages in a browser that has DejaVu alone: every text is whole, and none touches another."""

import pytest

from tests.docs.test_pictures import DRAWINGS

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

#: Texts of a drawing that leave their box or the drawing, or that touch another text.
CLASHES = """() => {
  const box = element => element.getBoundingClientRect(), name = text => text.textContent;
  const texts = [...document.querySelectorAll("text")], rects = [...document.querySelectorAll("rect")].map(box);
  const holds = (outer, inner, slack) => outer.left <= inner.left + slack && inner.right <= outer.right + slack
    && outer.top <= inner.top + slack && inner.bottom <= outer.bottom + slack;
  const cut = texts.filter(text => {
    const its = box(text), y = (its.top + its.bottom) / 2;
    const points = [its.left + 3, (its.left + its.right) / 2, its.right - 3];
    const around = rects.filter(rect => rect.top < y && y < rect.bottom
      && points.some(x => rect.left < x && x < rect.right));
    const least = around.sort((one, two) => one.width * one.height - two.width * two.height)[0];
    return !least || !holds(least, its, 1.5);
  }).map(name);
  const over = texts.flatMap((one, place) => texts.slice(place + 1).filter(two => {
    const a = box(one), b = box(two);
    return a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
  }).map(two => `${name(one)} / ${name(two)}`));
  return [...cut, ...over];
}"""


@pytest.mark.parametrize("path", DRAWINGS, ids=lambda path: path.name)
def test_every_text_of_a_drawing_is_whole(visit, path):
    tab, requests, complaints = visit(path)
    assert tab.evaluate(CLASHES) == []
    assert requests == [path.as_uri()] and not complaints


def test_texts_that_clash_are_seen(visit, tmp_path):
    file = tmp_path / "bad.svg"
    file.write_text('<svg xmlns="http://www.w3.org/2000/svg" width="300" height="100"><rect width="300" height="100"/>'
                    '<rect x="10" y="10" width="40" height="20"/><text x="12" y="25">wider than its box</text>'
                    '<text x="150" y="60">one</text><text x="160" y="62">two</text></svg>', "utf-8")
    tab, _, _ = visit(file)
    assert tab.evaluate(CLASHES) == ["wider than its box", "one / two"]
