"""Functions that C runs before main and after it; a program without any has no more code than before."""

import pytest

from metronome.hdl.presets import TINY
from metronome.sim.program.compiler.elf_cache import ToolchainError, build_elf
from metronome.sim.program.elf import load_elf
from tests.riscv_kernels.iss_runs import PROGRAMS, RESULTS, run_program


@pytest.mark.parametrize("leaves_by_exit", [0, 1])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_all_run_in_order(leaves_by_exit, level):
    done = run_program(PROGRAMS / "constructors.c", TINY, (leaves_by_exit,), (level,))
    assert list(done.words(RESULTS, 10)) == [1, 2, 3, 4, 5, 6, 7, 8, 0, 0]
    assert done.exit_code == 7


def test_a_program_without_any_has_nothing_of_it(tmp_path):
    source = tmp_path / "plain.c"
    source.write_text("int main(void) { return 0; }\n")
    symbols = load_elf(build_elf([source], name="plain")).symbols
    assert "main" in symbols and not [name for name in symbols if "wrap" in name or "init_array" in name]


@pytest.mark.parametrize(("before", "said"), [
    ("__attribute__((section(\".ctors\"))) void *t = &t;", "not supported: constructors in the section .ctors"),
    ("_Thread_local int t = 3;", "own.c:3: not supported: a thread-local variable"),
    ("extern __thread int t;", "own.c:3: not supported: a thread-local variable"),
])
def test_what_is_refused(tmp_path, monkeypatch, before, said):
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "own.c"
    source.write_text(f"{before}\nint main(void) {{\n    return (int)t;\n}}\n")
    with pytest.raises(ToolchainError) as error:
        build_elf([source], name="own", flags=["-w"])
    assert said in str(error.value).splitlines()[0]
