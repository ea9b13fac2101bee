"""tb/examples/amaranth: a design around the SM is Verilog too, and takes the same cycles."""

import re
import shutil
import sys

import pytest

from metronome.sim.program.image import read_words
from tests.support.builds import on
from tests.tb.examples.example_runs import EXAMPLES, KERNELS, call, check_memory, launched, own_run

pytestmark = [
    on("TINY"), pytest.mark.slow,
    pytest.mark.skipif(shutil.which("iverilog") is None, reason="needs the Debian package iverilog"),
]
TESTBENCH = """
module tb;
  reg clk = 0, rst = 1;
  wire done, fault, store;
  wire [31:0] exit_code;
  wire [47:0] cycles;
  wire [25:0] line;
  wire [63:0] mask;
  wire [511:0] data;
  embedded dut (.clk(clk), .rst(rst), .done(done), .fault(fault), .exit_code(exit_code), .cycles(cycles), .store(store),
                .store_line(line), .store_mask(mask), .store_data(data));
  always #1 clk = !clk;
  initial begin
    repeat (4) @(negedge clk);
    rst = 0;
  end
  always @(negedge clk) if (!rst) begin
    #0.5;
    if (store) $display("store %h %h %h", line, mask, data);
    if (done || cycles > 20000) begin
      $display("end %b %b %0d %0d", done, fault, exit_code, cycles);
      $finish;
    end
  end
endmodule
"""


def stored(image, output):
    """Memory after the run: the image, and each store in order."""
    memory = dict(read_words(image.read_text()))
    for line, mask, data in re.findall(r"^store (\w+) (\w+) (\w+)$", output, re.MULTILINE):
        for byte in range(64):
            if int(mask, 16) >> byte & 1:
                address, shift = int(line, 16) * 64 + byte // 4 * 4, 8 * (byte % 4)
                kept = memory.get(address, 0) & ~(0xFF << shift)
                memory[address] = kept | (int(data, 16) >> 8 * byte & 0xFF) << shift
    return memory.items()


@pytest.mark.long
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("latency", [4])
def test_the_embedded_sm_agrees(kernel, latency, tmp_path):
    launch, image = launched(kernel, 2, tmp_path)
    own = own_run(launch, latency)
    (tmp_path / "tb.v").write_text(TESTBENCH)
    embed = EXAMPLES / "amaranth" / "embed.py"
    call(sys.executable, embed, image, "--latency", latency, "-o", "embedded.v", cwd=tmp_path)
    call("iverilog", "-g2005", "-o", "sim", "tb.v", "embedded.v", cwd=tmp_path)
    output = call("vvp", "sim", cwd=tmp_path)
    assert output.splitlines()[-1] == f"end 1 0 0 {own.total_cycles}"
    check_memory(launch, stored(image, output))
