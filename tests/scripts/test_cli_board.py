"""metronome board: what is asked for, and what cannot be done, in one line each; the folder of a bitstream."""

import hashlib
import json
import resource
import signal

import pytest

from metronome.hdl.board.ulx3s import CLOCK_HZ
from metronome.scripts.commands.board_work import NEVER_TRIED
from metronome.sim.fpga.board import bitstream as made_by
from metronome.sim.fpga.board.bitstream import Bitstream
from metronome.sim.fpga.synth.report import Area, PathStep
from tests.scripts.lines import only_line

FILES = {"metronome.bit", "ulx3s.lpf", "metronome_ulx3s.v", "README.md", "board.json"}
#: The machine's clock.
MHZ = CLOCK_HZ / 1e6


@pytest.mark.parametrize(("words", "problem"), [
    ((), "choose: --output DIR writes a bitstream, and KERNEL with --port PORT runs on a board"),
    (("vecadd",), "choose: --output DIR"),
    (("vecadd", "--port", "rtl", "--output", "x"), "choose: --output DIR"),
    (("--port", "rtl"), "--port: name a program"),
    (("psort", "--port", "/dev/none"), "/dev/none: cannot be opened: No such file or directory"),
    (("vecadd", "--port", "rtl", "--seeds", "2"), "--seeds is for --output"),
    (("--output", "x", "--max-cycles", "5"), "--max-cycles is for --port"),
    (("--output", "x", "--size", "5"), "--size is for a program: KERNEL, or --elf FILE"),
    (("--output", "x", "--seeds", "1,x"), "--seeds: 'x' is no whole number above 0"),
    (("--output", "x", "--minutes", "0"), "--minutes must be a number above 0 and at most 10000, not 0"),
    (("--output", "none/x"), "--output: cannot write the folder 'none/x': No such file or directory"),
    (("--output", "file"), "--output: cannot write the folder 'file': it is a file"),
    (("--output", "mine"), "it exists and is not an export of metronome board"),
    (("--output", "x", "--json", "x/a.json"), "--json: cannot write 'x/a.json'"),
    (("--output", "x", "--baud", "9000000"), f"--baud must be within 2 % of {CLOCK_HZ} / n"),
    (("--output", "x", "--baud", "0"), "--baud must be within 2 %"),
    (("--output", "x", "--buffers", "100"), "user must have a multiple of 64 bytes, at least 64, not 100"),
    (("--output", "x", "--buffers", "0"), "user must have a multiple of 64 bytes, at least 64, not 0"),
    (("--output", "x", "--buffers", "4G"), "user and program overlap at 0x80000000"),
    (("--output", "x", "--program", "much"), ("--program must be a number of bytes, optionally with the suffix K, not "
                                             "'much'")),
    (("--output", "x", "--preset", "ULX4S"), "did you mean ULX3S?"),
])
def test_what_cannot_be_done_is_one_line(metronome, tmp_path, words, problem):
    (tmp_path / "file").write_text("")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("")
    before = sorted(path.name for path in tmp_path.rglob("*"))
    assert problem in metronome("board", *words).refusal
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


@pytest.fixture
def routes(monkeypatch, tmp_path):
    """What comes of each seed: MHz, or None. No tool runs."""
    rates, tried = {1: MHZ + 5}, []
    (tmp_path / "cache").mkdir()
    file = tmp_path / "cache" / "metronome.bit"
    file.write_bytes(b"bits")

    def bitstream(design, options, progress):
        tried.append(options.seed)
        rate = rates[options.seed]
        area = Area(10, 20, 30, 4)
        if rate is None:
            return Bitstream(area, options.seed, (file,), "it does not fit")
        return Bitstream(area, options.seed, (file,), None, file, rate, (PathStep("a", 1.0, 1.0, 1),), {})

    monkeypatch.setattr(made_by, "bitstream", bitstream)
    monkeypatch.setattr("metronome.hdl.board.ulx3s.generate", lambda *arguments, **options: "module")
    rates["tried"] = tried
    return rates


def test_the_folder_has_everything_and_says_that_no_board_has_seen_it(metronome, routes, tmp_path):
    done = metronome("board", "-o", "out", "--json", "figures.json", status=0)
    assert only_line(done.err) == f"metronome: note: {NEVER_TRIED}"
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES
    about = json.loads((tmp_path / "out" / "board.json").read_text())
    assert (about["tried_on_a_board"], about["fmax_mhz"], about["in_time"]) == (False, MHZ + 5, True)
    for name, digest in about["files"].items():
        assert hashlib.sha256((tmp_path / "out" / name).read_bytes()).hexdigest() == digest
    assert set(about["files"]) == FILES - {"board.json"}
    assert "never been tried on a real board" in (tmp_path / "out" / "README.md").read_text()
    lpf = (tmp_path / "out" / "ulx3s.lpf").read_text()
    # The pin's own clock: nextpnr derives that of the machine from the PLL.
    assert 'LOCATE COMP "clk_25mhz" SITE "G2";' in lpf and 'FREQUENCY PORT "clk_25mhz" 25 MHZ;' in lpf
    assert about["clock_mhz"] == MHZ
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert (figures["luts"], figures["seed"], figures["seeds"][0]["fmax_mhz"]) == (10, 1, MHZ + 5)


def test_seeds_are_tried_until_one_keeps_up(metronome, routes, tmp_path):
    routes |= {1: None, 2: MHZ - 0.01, 3: MHZ, 4: MHZ + 15}
    done = metronome("board", "-o", "out", "--seeds", "1,2,3,4")
    assert (done.status, routes["tried"]) == (0, [1, 2, 3])
    assert json.loads((tmp_path / "out" / "board.json").read_text())["seed"] == 3
    assert "it does not fit" in done.out and f"{MHZ - 0.01:g} MHz" in done.out


def test_a_clock_that_is_missed_is_told(metronome, routes, tmp_path):
    routes |= {1: MHZ - 5, 2: MHZ - 0.5}
    done = metronome("board", "-o", "out", "--seeds", "1,2", status=6)
    assert f"{MHZ:g} MHz requested, {MHZ - 0.5:g} MHz reached" in done.err.splitlines()[-1]
    about = json.loads((tmp_path / "out" / "board.json").read_text())
    assert (about["seed"], about["in_time"]) == (2, False)
    assert "DOES NOT KEEP UP" in (tmp_path / "out" / "README.md").read_text()


def test_without_a_route_nothing_is_written(metronome, routes, tmp_path):
    routes[1] = None
    done = metronome("board", "-o", "out", status=5)
    assert "not routed, and nothing written: it does not fit" in done.err.splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_a_folder_of_before_is_replaced_unless_it_was_changed(metronome, routes, tmp_path):
    assert metronome("board", "-o", "out").status == 0
    assert metronome("board", "-o", "out").status == 0
    (tmp_path / "out" / "ulx3s.lpf").write_text("mine")
    refusal = metronome("board", "-o", "out").refusal
    assert "it has files that metronome board did not write, or that have changed: ulx3s.lpf" in refusal
    assert (tmp_path / "out" / "ulx3s.lpf").read_text() == "mine"


def test_a_full_disk_leaves_nothing(metronome, routes, tmp_path):
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, limits[1]))
        done = metronome("board", "-o", "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert done.status == 2
    assert "cannot write the folder" in done.err.splitlines()[-1]
    assert not (tmp_path / "out").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
