"""The key of a run: another one for whatever can change its result, and for nothing else."""

import dataclasses
from pathlib import Path

import pytest

from metronome.hdl.gpu.config import Dispatch, GpuConfig, Interconnect, L2Kind
from metronome.hdl.presets import TINY
from metronome.sim.machine.engines import Engine
from metronome.sim.program.compiler.options import Compiling
from metronome.sim.studies.sweep import record
from metronome.sim.studies.sweep.spec import expand, find_spec

RUN = 'kernel = "vecadd"\nsize = 4\npreset = "TINY"\nissue = "lrr"\n'
HOST = """
import numpy as np, struct
from metronome.riscv_kernels.host import Buffers, Problem
ABOUT, TYPES, DEFAULT_SIZE, MAX_SIZE = "x", ("int32",), 1, 3
def make(dtype, size, seed, config):
    buffers = Buffers(config)
    place = buffers.place("in", np.array([7], np.int32))
    return Problem(arguments=struct.pack("<I", place), buffers=buffers.placed, check=lambda read: [])
"""
SOURCE = '#include "metronome.h"\nint main(void) { region_begin(); return 0; }\n'


def only_run(text):
    (run,) = expand(text, "mine", "mine.toml", Path()).runs
    return run


@pytest.mark.slow
def test_the_same_run_has_the_same_key():
    assert only_run(RUN).key() == only_run(RUN).key()
    # A build for other policies too, as a sweep of several makes it, gives the same result.
    several = expand(RUN.replace('"lrr"', '["lrr", "gto"]'), "mine", "mine.toml", Path()).runs[0]
    assert several.config.policies != only_run(RUN).config.policies and several.key() == only_run(RUN).key()


@pytest.mark.parametrize("changes", [
    {"size": 5}, {"seed": 2}, {"issue": "gto"}, {"max_cycles": 77}, {"check": True}, {"memcheck": True},
    {"engine": Engine.PREDICT}, {"forecast": True},
    {"memory": "random"}, {"latency": 21}, {"dtype": "float32"},
    {"compiling": Compiling(("-O1",))}, {"compiling": Compiling(simt=False)},
], ids=str)
def test_another_option_another_key(changes):
    run = only_run(RUN)
    assert dataclasses.replace(run, **changes).key() != run.key()


@pytest.mark.parametrize("changes", [
    {"sms": 4}, {"interconnect": Interconnect.TDM}, {"l2": L2Kind.SHARED}, {"dispatch": Dispatch.DYNAMIC},
], ids=str)
def test_another_gpu_another_key(changes):
    run, gpu = only_run(RUN), GpuConfig(sm=TINY, sms=2)

    def on(gpu):
        return dataclasses.replace(run, gpu=gpu, config=gpu.sm_of(0), compiling=run.compiling.for_gpu(gpu))

    one, other = on(gpu), on(dataclasses.replace(gpu, **changes))
    assert len({run.key(), one.key(), other.key()}) == 3
    assert (one.title, run.title) == (
        "vecadd int32 4, TINY, sms=2, swas lrr btfn, fixed", "vecadd int32 4, TINY, swas lrr btfn, fixed")
    changed = [f"{name}={value}" for name, value in ({"sms": 2} | changes).items()]
    assert other.title == one.title.replace("sms=2", ", ".join(changed))


@pytest.mark.parametrize("axis", ['prediction = "not_taken"', "icache_bytes = 512", "warps = 4", 'mode = "baseline"'])
def test_another_machine_another_key(axis):
    assert only_run(RUN + axis).key() != only_run(RUN).key()


def test_another_source_or_other_inputs_another_key(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()

    def key(source, host):
        (folder / "kernel.c").write_text(source)
        (folder / "host.py").write_text(host)
        return only_run(f'kernel = "{folder}"\npreset = "TINY"\nissue = "lrr"\n').key()

    usual = key(SOURCE, HOST)
    assert key(SOURCE.replace("return 0", "return 1"), HOST) != usual
    assert key(SOURCE, HOST.replace("[7]", "[8]")) != usual
    assert key(SOURCE, HOST) == usual


def test_other_hardware_another_key(monkeypatch):
    usual = only_run(RUN).key()
    monkeypatch.setattr(record, "sources_digest", lambda: "those of another commit")
    assert only_run(RUN).key() != usual


def test_another_model_another_key_of_what_is_predicted(monkeypatch):
    runs = [only_run(RUN), only_run(RUN + 'engine = "predict"'), only_run(RUN + "forecast = true")]
    usual = [run.key() for run in runs]
    monkeypatch.setattr(record, "model_digest", lambda: "that of another commit")
    assert [run.key() != key for run, key in zip(runs, usual, strict=True)] == [False, True, True]


@pytest.mark.slow
def test_where_the_command_runs_is_no_part_of_a_run(tmp_path, monkeypatch):
    folder = tmp_path / "sub" / "mine"
    folder.mkdir(parents=True)
    (folder / "kernel.c").write_text(SOURCE)
    (folder / "host.py").write_text(HOST)
    (tmp_path / "sub" / "mine.toml").write_text('kernel = "mine"\npreset = "TINY"\nissue = "lrr"\n')
    keys, titles = set(), set()
    for place, name in ((tmp_path, "sub/mine.toml"), (tmp_path / "sub", "mine.toml"), (folder, "../mine.toml"),
                        (folder, tmp_path / "sub" / "mine.toml")):
        monkeypatch.chdir(place)
        (run,) = find_spec(str(name)).runs
        keys.add(run.key())
        titles.add(run.title)
    assert len(keys) == 1
    assert titles == {"mine int32 1, TINY, swas lrr btfn, fixed"}
