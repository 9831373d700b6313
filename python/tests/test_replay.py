"""Replays: exact ones, and what-ifs."""
import pytest

import tracesmith


def test_an_exact_replay_is_the_record(device_trace):
    with tracesmith.open(device_trace) as t:
        replay = t.replay()
        assert replay["result"] == "same" and replay["operations"] == 15
        assert replay["makespan_ns"] == replay["recorded_makespan_ns"]
        assert sum(replay["cost_ns"].values()) == replay["makespan_ns"]
        schedule = replay["schedule"]
        assert list(schedule["start_ns"]) == list(schedule["recorded_ns"])
        assert schedule.texts("kind").count("kernel") == 10
        assert t.replay()["digest"] == replay["digest"]


def test_what_ifs_shorten_what_they_name(device_trace):
    with tracesmith.open(device_trace) as t:
        replay = t.replay(what_if=["scale gemm=1/2", "remove gemm"])
        model, half, none, both = replay["what_ifs"]
        assert model["change"] is None and half["change"] == "scale gemm=1/2"
        assert half["meant"] == none["meant"] == 10
        assert model["makespan_ns"] > half["makespan_ns"] \
            >= none["makespan_ns"]
        assert both["change_ns"] < 0
        assert t.replay("scale nothing=2")["what_ifs"][1]["nothing"]
        with pytest.raises(tracesmith.Error, match="what-if"):
            t.replay(["faster please"])


def test_a_trace_without_devices_says_so(path):
    with tracesmith.record(path):
        tracesmith.mark("m")
    with tracesmith.open(path) as t:
        with pytest.raises(tracesmith.Error, match="no operation of a device"):
            t.replay()
        with pytest.raises(tracesmith.Error, match="no operation of a device"):
            t.timeline()
