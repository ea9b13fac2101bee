"""Rooms at the end of the house: nothing that they are built of knows them."""

from tests.rules.test_architecture import inside, our_graph

#: Each with those who may enter.
LAST_ROOMS = {
    "sim.studies.sweep": ("sim.studies.sweep", "scripts", "tests"),
    "sim.studies.characterize": ("sim.studies.characterize", "sim.studies.models", "scripts", "tests"),
    "sim.studies.models": ("sim.studies.models", "scripts", "tests"),
    # The buses know the SM; the SM, and whatever else is in hdl but for the export, does not know them.
    "hdl.bus": (
        "hdl.bus", "hdl.board", "hdl.verilog", "sim.fpga.board", "sim.fpga.synth", "sim.build.export", "tb", "scripts",
        "tests",
    ),
    "hdl.board": ("hdl.board", "sim.fpga.board", "tests"),
    "sim.fpga.board": ("sim.fpga.board", "scripts", "tests"),
}


def intruders(graph: dict[str, set[str]]) -> list[str]:
    """Imports of the last rooms by what they are built of."""
    return sorted(
        f"{module} imports {target}" for room, guests in LAST_ROOMS.items() for module in graph
        if not any(inside(module, guest) for guest in guests) for target in graph[module] if inside(target, room)
    )


def test_the_last_rooms_are_entered_from_above():
    assert intruders(our_graph()) == []
    tree = {"sim.run.runner": {"sim.studies.sweep.sweep"}, "scripts.commands.sweep": {"sim.studies.sweep.sweep"}}
    assert intruders(tree) == ["sim.run.runner imports sim.studies.sweep.sweep"]
