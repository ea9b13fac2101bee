"""What is read of nextpnr's report."""

import pytest

from metronome.sim.fpga.synth.report import critical_path, fmax, signal_name


@pytest.mark.parametrize(
    ("net", "name"),
    [
        ("unit.core.lrr_pick_LUT4_Z_5_D_CCU2C_S0_CIN", "lrr_pick"),
        ("unit.core.lrr_state.last[3]", "lrr_state.last"),
        ("unit.core.warps.pc_3_TRELLIS_FF_Q_12_DI", "warps.pc_3"),
        ("unit.core.store.tags.0.1$DP16KD_COMB", "store.tags.0.1"),
        ("chain_TRELLIS_FF_Q", "chain"),
        ("unit.core.frontend.fetch$116.store.valid_0_TRELLIS_FF_Q_10_DI", "frontend.fetch.store.valid_0"),
        ("unit.core.frontend.fetch$116.store.orders[1]_TRELLIS_FF_Q_5", "frontend.fetch.store.orders"),
        ("unit.core.scheduler.state$3", "scheduler.state"),
        ("unit.rams.core.store.lines.0.6", "store.lines.0.6"),
    ],
)
def test_signal_names(net, name):
    assert signal_name(net) == name


def test_a_report_is_read_as_nextpnr_writes_it():
    def piece(kind, delay, cell, net=None):
        value = {"type": kind, "delay": delay, "from": {"cell": cell}, "to": {"cell": cell}}
        return value if net is None else {**value, "net": net}

    report = {
        "fmax": {"$glbnet$clk": {"achieved": 123.456, "constraint": 100.0}},
        "critical_paths": [
            {"from": "<async>", "to": "posedge clk", "path": []},
            {"from": "posedge clk", "to": "<async>", "path": []},
            {"from": "posedge clk", "to": "posedge clk", "path": [
                piece("clk-to-q", 0.5, "unit.core.a_TRELLIS_FF_Q"), piece("routing", 1.0, "", "unit.core.a[1]"),
                piece("logic", 0.25, "unit.core.b_LUT4_Z"), piece("routing", 0.5, "", "unit.core.b"),
                piece("setup", 0.0, "unit.core.c_TRELLIS_FF_Q"),
            ]},
        ],
    }
    assert fmax(report) == 123.46
    assert [(s.signal, s.delay_ns, s.at_ns, s.levels) for s in critical_path(report)] == [
        ("a", 1.5, 1.5, 0), ("b", 0.75, 2.25, 1), ("c", 0.0, 2.25, 0),
    ]
    with pytest.raises(ValueError, match="no path from clock edge to clock edge"):
        critical_path({"critical_paths": report["critical_paths"][:2]})
