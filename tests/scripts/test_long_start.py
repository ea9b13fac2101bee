"""A program with much .bss says before it runs why that takes long."""

import re

import pytest

from metronome.scripts.options.program import long_start
from tests.support.programs import prepared


@pytest.mark.parametrize(("size", "told"), [(8 << 20, True), (1 << 10, False)])
def test_a_program_with_much_bss_says_why_it_takes_long(tmp_path, size, told):
    line = long_start(prepared(tmp_path, f"volatile char big[{size}];\nint main(void) {{ return big[0]; }}\n"), 4)
    assert (line is not None) == told
    if told:
        cleared, instructions = (int(number) for number in re.findall(r" (\d{5,}) ", line))
        # The runtime has some of its own.
        assert size <= cleared < size + 4096 and instructions == cleared // 4, line
