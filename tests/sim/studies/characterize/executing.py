"""Who executes micro-benchmarks in the tests: the predictor, or the hardware."""

from dataclasses import replace

from metronome.sim.predict.predictor import predict
from metronome.sim.run.runner import RunRequest, run


def request_of(bench, latency, given):
    request = RunRequest(launch=bench, **{"policy": "lrr", **given})
    return request if latency is None else replace(request, memory="fixed", latency=latency)


def predicted(config, **given):
    """An executor that computes each run; ``given`` as of a RunRequest."""
    def execute(bench, latency):
        result = predict(config, request_of(bench, latency, given)).result
        assert result.status == "ended", (result.status, result.fault)
        return result.memory

    return execute


def simulated(config, **given):
    """An executor that makes each run on the hardware, in lock step with the golden model."""
    def execute(bench, latency):
        result = run(config, request_of(bench, latency, {"check": True, **given}))
        assert result.status == "ended", (result.status, result.fault, result.mismatches)
        return result.memory

    return execute
