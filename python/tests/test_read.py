"""What reading a trace gives: columns, queries, timelines, reports."""
import json
import os
import sys

import pytest

import tracesmith
from conftest import names, write_device_trace

numpy = pytest.importorskip("numpy")


def test_columns_are_buffers_that_are_not_copied(device_trace):
    with tracesmith.open(device_trace) as t:
        kernels = t.events("kernel")
        starts = kernels["start_ns"]
        view = memoryview(starts)
        assert (view.format, view.itemsize, view.ndim) == ("q", 8, 1)
        array = numpy.asarray(starts)
        assert array.dtype == numpy.int64
        array[0] = 12345  # the same memory
        assert starts[0] == 12345 and view[0] == 12345
        assert numpy.asarray(starts).ctypes.data == array.ctypes.data
    assert array[0] == 12345  # and it outlives the trace


def test_events_of_a_kind(device_trace):
    with tracesmith.open(device_trace) as t:
        rows = list(t.events("kernel").rows())
        assert [r["start_ns"] for r in rows] == [i * 5000 + 800
                                                 for i in range(10)]
        assert {r["duration_ns"] for r in rows} == {1000}
        assert {r["name"] for r in rows} == {"gemm"}
        assert [r["correlation"] for r in rows] == list(range(1, 11))
        launch = t.launches[0]
        assert launch["grid"] == (8, 1, 1) and launch["block"] == (256, 1, 1)
        copies = t.events("memcpy")
        assert list(copies["size"]) == [4096] * 5
        assert set(t.events("api_call").texts("name")) == {
            "cuLaunchKernel", "cuMemcpyHtoDAsync"}
        assert t.events("mark").row_count == 0


def test_events_of_some_tracks_and_times(device_trace):
    with tracesmith.open(device_trace) as t:
        def starts(**options):
            return list(t.events("kernel", **options)["start_ns"])
        assert starts(from_ns=5800, to_ns=15801) == [5800, 10800, 15800]
        assert starts(from_ns=6799, to_ns=6800) == [5800]
        assert starts(from_ns=6800, to_ns=10800) == []
        stream = [k.id for k in t.tracks if k.name == "s1"]
        other = [k.id for k in t.tracks if k.name == "s2"]
        assert len(starts(tracks=stream)) == 10 and starts(tracks=other) == []
        some = t.events("kernel", columns=["start_ns", "name"])
        assert sorted(some) == ["name", "start_ns"]
        with pytest.raises(ValueError, match="do not have all"):
            t.events("kernel", columns=["nothing"])
        with pytest.raises(ValueError, match="no kind of event"):
            t.events("nothing")


def test_a_dataframe(device_trace):
    pandas = pytest.importorskip("pandas")
    with tracesmith.open(device_trace) as t:
        frame = t.dataframe("kernel")
    assert isinstance(frame, pandas.DataFrame) and len(frame) == 10
    assert str(frame["name"].dtype) == "category"
    assert frame["duration_ns"].sum() == 10000
    by = frame.groupby("name", observed=True)["duration_ns"].sum()
    assert by["gemm"] == 10000


def test_a_query(device_trace):
    with tracesmith.open(device_trace) as t:
        got = t.query("SELECT name, count(*) AS n, sum(duration_ns) AS ns "
                      "FROM kernel WHERE start_ns >= :from GROUP BY name",
                      settings={"from": 5800})
        pandas = pytest.importorskip("pandas")
        assert isinstance(got, pandas.DataFrame)
        assert got.to_dict("records") == [{"name": "gemm", "n": 9, "ns": 9000}]
        types = t.query("SELECT 1 AS i, 0.5 AS r, 'x' AS t, NULL AS n")
        assert types["i"].dtype == "int64" and types["r"].dtype == "float64"
        assert t.query("SELECT 1 AS a WHERE 0").columns.tolist() == ["a"]
        with pytest.raises(tracesmith.Error, match="near \"SELCT\""):
            t.query("SELCT 1")
        with pytest.raises(TypeError, match="not all of these"):
            t.query("SELECT 1", nothing=1)


def test_without_numpy_and_pandas(run, device_trace):
    said = run("""
import sys
sys.modules["numpy"] = sys.modules["pandas"] = None
import tracesmith
t = tracesmith.open(sys.argv[1])
rows = t.query("SELECT name, count(*) AS n FROM kernel")
print(rows, rows.columns, rows.column("n"))
print(sum(t.events("kernel")["duration_ns"]))
try: t.dataframe("kernel")
except tracesmith.Error as e: print(e)
""", device_trace)
    assert "[('gemm', 10)] ['name', 'n'] [10]" in said and "10000" in said
    assert "pandas is not installed" in said


def test_a_timeline(device_trace):
    with tracesmith.open(device_trace) as t:
        line = t.timeline()
    device = line["devices"][0]
    # 10 kernels of 1000 ns and 5 copies of 700, none at the same time.
    assert device["busy_ns"] == 13500 and device["name"] == "GPU"
    assert device["work_ns"] == {"kernel": 10000, "collective": 0,
                                 "copy": 3500}
    span = 45000 + 800 + 1000 - 800
    assert device["idle_ns"] == span - 13500
    assert abs(device["utilisation"] - 13500 / span) < 1e-9
    assert sum(device["cause_ns"].values()) == device["idle_ns"]
    assert device["gaps"].row_count == 14
    gaps = list(device["gaps"].rows())
    assert sum(g["end_ns"] - g["start_ns"] for g in gaps) == device["idle_ns"]
    assert {g["cause"] for g in gaps} <= set(device["cause_ns"])
    assert len(line["streams"]) == 2
    states = list(line["streams"][0]["states"].rows())
    assert sum(s["end_ns"] - s["start_ns"] for s in states
               if s["state"] == "running") == 10000
    with tracesmith.open(device_trace) as t:
        assert t.timeline(0, 5000)["total"]["busy_ns"] == 1700
        with pytest.raises(tracesmith.Error):
            t.timeline(5, 5)


def test_a_timeline_as_dataframes(device_trace):
    pytest.importorskip("pandas")
    with tracesmith.open(device_trace) as t:
        line = t.timeline()
        gaps, states, devices = line.gaps(), line.states(), line.devices()
        assert (gaps["end_ns"] - gaps["start_ns"]).sum() == \
            devices["idle_ns"][0]
        assert list(devices["name"]) == ["GPU"]
        assert "running" in set(states["state"])
        assert len(t.replay()["schedule"].dataframe()) == 15
        other = t.diff(t.path, top=5)
        assert other.verdict == "passed" and other.tables() is not None


def test_an_analysis_is_what_the_tool_says(device_trace):
    with tracesmith.open(device_trace) as t:
        report = t.analyze("idle")
        assert report["files"][0]["path"] == device_trace
        assert list(report["answers"]) == ["idle"]
        assert "GPU" in t.analyze(["idle", "kernels"], format="text")
        assert t.analyze(format="html").startswith("<!DOCTYPE html>")
        with pytest.raises(tracesmith.Error, match="nothing"):
            t.analyze("nothing")
        pytest.importorskip("pandas")
        causes = report.tables()["idle.causes"]
        assert causes["idle_ns"].sum() == \
            report["answers"]["idle"]["figures"]["idle_ns"]
    assert "idle" in tracesmith.topics()


def test_a_diff_and_its_gates(device_trace, tmp_path):
    slower = str(tmp_path / "slower.sbt")
    write_device_trace(slower, kernel_ns=2000)
    with tracesmith.open(device_trace) as t, tracesmith.open(slower) as u:
        same = t.diff(t.path, gates=["kernel:* total +5%"])
        assert same.verdict == "passed"
        worse = t.diff(u, gates="kernel:* total +5%", gate_untested=True)
        assert worse.verdict == "failed"
        assert "gemm" in t.diff(u, format="text")


def test_exports(device_trace, tmp_path):
    out = tmp_path / "t.json"
    with tracesmith.open(device_trace) as t:
        counts = t.export(out)
        assert counts["format"] == "chrome" and counts["slices"] >= 15
        events = json.loads(out.read_text())["traceEvents"]
        assert sum(e.get("name") == "gemm" for e in events) == 10
        made = t.export(format="perfetto")
        assert isinstance(made, bytes) and len(made) > 100
        with pytest.raises(tracesmith.Error):
            t.export(device_trace)  # over itself


def test_a_page_and_a_view(device_trace, tmp_path):
    page = tmp_path / "page.html"
    with tracesmith.open(device_trace) as t:
        assert t.page(page) is None
        text = t.page()
        assert text == page.read_text() and text.startswith("<!doctype html>")
        assert '"report":' in text.replace(" ", "")
        assert len(t.page(report=False)) < len(text)
        frame = tracesmith.view(t, height=300)._repr_html_()
        assert frame.startswith("<iframe sandbox=") and 'height="300"' in frame
        assert "<script" not in frame  # it is quoted as a whole
    assert tracesmith.view(device_trace).page == text


def test_cut_merge_and_import(device_trace, tmp_path):
    part, both = str(tmp_path / "part.sbt"), str(tmp_path / "both.sbt")
    with tracesmith.open(device_trace) as t:
        counts = t.cut(part, stream="s1")
        assert counts["kept"] >= 10
    with tracesmith.open(part) as p:
        assert "memcpy" not in p.info["counts"]
    other = str(tmp_path / "other.sbt")
    with tracesmith.record(other):
        tracesmith.mark("m")
    merged = tracesmith.merge([device_trace, other], both)
    assert len(merged["files"]) == 2
    with tracesmith.open(both) as t:
        assert t.info["counts"]["kernel"] == 10
        assert t.info["counts"]["mark"] == 1
    chrome = tmp_path / "c.json"
    chrome.write_text(json.dumps([
        {"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]))
    report = tracesmith.import_files(chrome, tmp_path / "c.sbt")
    assert report
    assert names(tracesmith.open(tmp_path / "c.sbt")) == ["a"]


def test_damage_is_told(device_trace, tmp_path):
    bad = tmp_path / "bad.sbt"
    data = bytearray(open(device_trace, "rb").read())
    data[len(data) // 2] ^= 0xFF
    bad.write_bytes(bytes(data))
    with tracesmith.open(bad) as t:
        assert not t.verify()
        assert t.damage and t.damage[0]["size"] > 0
        with pytest.warns(tracesmith.TraceWarning, match="damaged"):
            t.events("kernel")
    bad.write_bytes(b"no trace at all, but text that is long enough" * 9)
    with pytest.raises(tracesmith.Error, match="not an SBT file") as error:
        tracesmith.open(bad)
    assert error.value.result == "TS_ERR_NOT_SBT"
    with pytest.raises(tracesmith.Error, match="No such|could not"):
        tracesmith.open(tmp_path / "nothing.sbt")


@pytest.mark.filterwarnings("ignore::tracesmith.TraceWarning")
def test_every_cut_of_a_trace_is_read_or_refused(device_trace, tmp_path):
    data = open(device_trace, "rb").read()
    cut = tmp_path / "cut.sbt"
    for size in range(0, len(data), 61):
        cut.write_bytes(data[:size])
        try:
            with tracesmith.open(cut) as t:
                for kind in list(t.info["counts"]):
                    t.events(kind)
        except tracesmith.Error as error:
            assert error.where == str(cut)


def test_a_closed_trace_says_so(device_trace):
    t = tracesmith.open(device_trace)
    t.close()
    with pytest.raises(tracesmith.Error, match="closed"):
        t.info
    t.close()


def test_a_writer(tmp_path):
    path = str(tmp_path / "w.sbt")
    w = tracesmith.Writer(path, start_realtime_ns=10**18, process=5)
    track = w.track(2, w.name("thread"), 9)
    site = w.site(w.name("zone"))
    for i in range(5):
        w.event("zone", track, i * 10, 5, {"site": site})
    w.event("message", track, 3, 0, {}, "text")
    with pytest.raises(ValueError, match="no column"):
        w.event("zone", track, 0, 0, {"sites": 1})
    w.metadata("n", 3)
    w.close()
    with pytest.raises(tracesmith.Error, match="closed"):
        w.close()
    with tracesmith.open(path) as t:
        assert names(t) == ["zone"] * 5 and t.metadata["n"] == 3
        assert t.events("message")["text"] == ["text"]
    unfinished = tracesmith.Writer(str(tmp_path / "u.sbt"))
    unfinished.abandon()
    assert not os.path.exists(str(tmp_path / "u.sbt"))
