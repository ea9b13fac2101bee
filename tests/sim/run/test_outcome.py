"""What is said of a run."""

import pytest

from metronome.sim.run.outcome import _exit_code


@pytest.mark.parametrize(("word", "said"), [
    (3, "exit code 3 (there)"), (0x4000_0000, "exit code 1073741824 (there)"),
    (0x8000_0000, "exit code -2147483648 (0x80000000, there)"), (0xFFFF_FFFE, "exit code -2 (0xfffffffe, there)"),
])
def test_an_exit_code_has_a_sign(word, said):
    assert _exit_code(word, "there") == said
