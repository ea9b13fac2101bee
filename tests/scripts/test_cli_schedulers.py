"""Machines with several schedulers: what commands refuse, in one line."""

import pytest

from tests.scripts.lines import only_line

TWO = ("--preset", "BASE", "--set", "schedulers=2")


@pytest.mark.parametrize("arguments", [
    ("wcet", "vecadd"), ("analyze", "vecadd"), ("sweep", "vecadd"), ("sweep", "vecadd", "--output", "x"),
    ("characterize",), ("verilog", "--output", "x"), ("synth", "--unit", "frontend"),
    ("board", "vecadd", "--port", "x"), ("build", "vecadd", "--image", "x.hex"),
], ids=" ".join)
def test_other_commands_refuse_them(metronome, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    done = metronome(*arguments, *TWO, status=2)
    assert only_line(done.err).startswith("metronome: schedulers=2: only metronome run")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("settings", "message"), [
    (("schedulers=3",), "schedulers must be 1, 2 or 4, not 3"),
    (("schedulers=4", "warps=6"), "warps must be a multiple of schedulers, 4, not 6"),
    (("schedulers=2", "channels=ordered", "channel_depth=8"), "channels must be shared or free with several"),
    (("schedulers=2", "group_warps=4"), "group_warps must be 0 or a divisor of warps, 2, not 4"),
    (("schedulers=2", "rates=1+2+3"), "rates must be at most one for each warp, of which there are 2"),
])
def test_machines_that_cannot_be_built(metronome, settings, message):
    done = metronome("config", "--preset", "BASE", *(each for text in settings for each in ("--set", text)), status=2)
    assert message in only_line(done.err)


def test_an_experiment_refuses_them(metronome, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text('kernel = "vecadd"\npreset = "BASE"\nsize = 4\nschedulers = 2\nissue = "lrr"\n')
    done = metronome("sweep", "mine.toml", status=2)
    assert "schedulers must be 1 in an experiment" in only_line(done.err)
