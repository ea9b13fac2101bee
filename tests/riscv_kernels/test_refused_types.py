"""Types and functions of C that the machine has nothing for: refused with the line and what to write instead."""

import pytest

from metronome.sim.program.compiler.elf_cache import ToolchainError, build_elf

REFUSED = {
    "half": ("volatile _Float16 x = 1.5f16;", "x = x * x;", "_Float16"),
    "bfloat": ("volatile __bf16 x;", "x = x * x;", "_Float16"),
    "complex product": ("volatile float _Complex x = 1.0f;", "x = x * x;", "complex"),
    "complex quotient": ("volatile float _Complex x = 1.0f;", "x = x / x;", "complex"),
    "long double": ("volatile long double x = 1;", "x = x * 2;", "long double"),
    "power": ("volatile int n; volatile float x;", "x = __builtin_powif(2.0f, n);", "powf"),
    "atexit": ("int atexit(void (*)(void)); static void f(void) { }", "atexit(f);", "destructor"),
    "length": ("volatile int n = 3;", "volatile int a[n]; a[1] = 3;", "length is no constant"),
    "alignment": ("", "_Alignas(64) volatile char p[64]; p[0] = 1;", "aligned to more than 16 bytes"),
}


@pytest.mark.slow
def test_each_is_refused_with_its_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "own.c"
    for name, (before, statement, word) in REFUSED.items():
        source.write_text(f"{before}\n\nint main(void) {{\n    {statement}\n    return 0;\n}}\n")
        with pytest.raises(ToolchainError) as error:
            build_elf([source], name="own", flags=["-w"])
        first = str(error.value).splitlines()[0]
        line = 3 if "in main:" in first else 4  # what is about the frame is a whole function's
        assert first.startswith(f"own.c:{line}: ") and "not supported: " in first and word in first, f"{name}: {first}"


@pytest.mark.slow
def test_integers_of_any_width_work(tmp_path):
    source = tmp_path / "own.c"
    source.write_text("volatile _BitInt(40) z = 1;\nint main(void) { z = z * z / 3; return 0; }\n")
    build_elf([source], name="own")
