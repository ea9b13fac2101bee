"""Files of submissions, for tests."""

from metronome.sim.build.sources import ROOT

SKELETON = (ROOT / "sim/studies/course/skeleton.py").read_text("utf-8")
#: The line of task 1 that a student replaces first.
PICK = "return after(state.last, inputs.eligible)"


def with_pick(line):
    """The skeleton, in which the first policy picks so."""
    return SKELETON.replace(PICK, line, 1)


def _on_handover(text):
    """What is said of the first case."""
    return rf"bad\.py{text} \(on handover\)"


#: A fault -> the file, and the message. test_sandbox.py has more of them.
BAD = {
    "no Python": ("class GreedyThenOldest(:\n", r"bad\.py, line 1: "),
    "an exception of the module": ("x = 1 / 0\n", r"bad\.py, line 1: ZeroDivisionError: division by zero"),
    "an exception": (with_pick("return {}[state.last]"), _on_handover(r", line \d+, in pick: KeyError: \d")),
    "no eligible warp": (with_pick("return 7"), _on_handover(
        r": class GreedyThenOldest: in cycle 0 pick returned 7, which is no eligible warp \(eligible: none\)",
    )),
    "the end of the process": (
        with_pick("import random; random._os._exit(3)"), _on_handover(": it has ended the process"),
    ),
    "the end of the program": (with_pick("raise SystemExit"), _on_handover(": it ends the program")),
    "a loop that nothing stops": (
        with_pick("""
        while True:
            try:
                while True:
                    pass
            except BaseException:
                pass"""),
        _on_handover(": it takes longer than 1 s"),
    ),
    "the solution": (
        "from metronome.sim.machine.policies import plain\n",
        (r"bad\.py, line 1: it imports metronome\.sim\.machine\.policies: "
         r"of Metronome it may import metronome\.sim\.machine\.policies\.base only"),
    ),
    "no text": (b"\xff\xfe", r"bad\.py: .*decode"),
}
