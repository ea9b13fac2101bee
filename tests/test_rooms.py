"""Rooms at the end of the house: nothing that they are built of knows them."""

from test_architecture import inside, our_graph

#: Each with those who may enter.
LAST_ROOMS = {
    "sim.experiments": ("sim.experiments", "scripts", "tests"),
    "sim.characterize": ("sim.characterize", "sim.models", "scripts", "tests"),
    "sim.models": ("sim.models", "scripts", "tests"),
    # The buses know the SM; the SM, and whatever else is in hdl but for the export, does not know them.
    "hdl.bus": (
        "hdl.bus", "hdl.board", "hdl.verilog", "sim.board", "sim.synth", "sim.export", "tb", "scripts", "tests",
    ),
    "hdl.board": ("hdl.board", "sim.board", "tests"),
    "sim.board": ("sim.board", "scripts", "tests"),
}


def intruders(graph: dict[str, set[str]]) -> list[str]:
    """Imports of the last rooms by what they are built of."""
    return sorted(
        f"{module} imports {target}" for room, guests in LAST_ROOMS.items() for module in graph
        if not any(inside(module, guest) for guest in guests) for target in graph[module] if inside(target, room)
    )


def test_the_last_rooms_are_entered_from_above():
    assert intruders(our_graph()) == []
    tree = {"sim.runner": {"sim.experiments.sweep"}, "scripts.sweep": {"sim.experiments.sweep"}}
    assert intruders(tree) == ["sim.runner imports sim.experiments.sweep"]
