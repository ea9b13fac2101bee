"""Pages of invented results, each made once."""

import json

import pyarrow.parquet
import pytest

from metronome.sim.studies.sweep.report.page import bounds_page, read_bounds, render, report
from tests.sim.studies.sweep.invented_bounds import bound
from tests.sim.studies.sweep.invented_results import OWN, PAPER, PTA, invent
from tests.sim.studies.sweep.page_reader import Page

SEED = 20_240_828


def made(folder, results):
    """The page, its text, and the rows as another program reads them."""
    text = render(report(results))
    (folder / "page.html").write_text(text, "utf-8")
    return Page(text), text, pyarrow.parquet.read_table(folder / "results" / "runs").to_pylist()


@pytest.fixture(scope="session")
def crouzet(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crouzet")
    return made(folder, invent(folder / "results", PAPER, SEED))


@pytest.fixture(scope="session")
def bounds(tmp_path_factory):
    """A page of bounds alone: two machines, an exact one, one below its run, and the same program again."""
    documents = [
        bound("psort", 64, "lrr", 46_000, 33_000), bound("psort", 64, "srr", 40_000, 36_000),
        bound("vecadd", 64, "lrr", 3_088), bound("kmeans", 32, "lrr", 9_000, 9_001),
        bound("psort", 64, "lrr", 41_000, 33_000), bound("psort", 64, "lrr", 31_000, 30_000, ranges=["source=0..9"]),
    ]
    folder = tmp_path_factory.mktemp("bounds")
    files = [folder / f"{number}.json" for number in range(len(documents))]
    for file, document in zip(files, documents, strict=True):
        file.write_text(json.dumps(document))
    text = render(bounds_page(read_bounds(files)))
    return Page(text), text, documents


@pytest.fixture(scope="session")
def magalhaes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("magalhaes")

    def same_as_before(row):
        """One run with exactly the cycles of round robin's, for the white cell and the grey mark."""
        if (row["kernel"], row["config.size"], row["config.preset"]) == ("conv3", 16, "MID"):
            same = {"cycles": 5_000, "load_latency.mean": 40.0, "load_latency.count": 100}
            return row | (same if row["config.fetch"] in ("lrr", "gto") else {})
        return row

    return made(folder, invent(folder / "results", PTA, SEED + 1, changed=same_as_before))


@pytest.fixture(scope="session")
def own(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    return made(folder, invent(folder / "results", OWN, SEED, failed=(3, 4), missing=(7,)))
