"""Scripts under `python -m tracesmith record`, and child processes."""
import glob
import sys

import pytest

import tracesmith
from conftest import names

SCRIPT = """
import sys
def inner(n): return n + 1
def outer():
    for i in range(3): inner(i)
def gen():
    yield 1
    yield 2
def fails():
    try: inner(None)
    except TypeError: pass
outer(); list(gen()); fails()
print(sys.argv[1:], __name__)
if 'leave' in sys.argv: sys.exit(5)
"""


def test_a_script_is_recorded_with_its_functions(run, tmp_path):
    (tmp_path / "s.py").write_text(SCRIPT)
    said = run(None, "-m", "tracesmith", "record", "-o", "s.sbt", "--", "s.py",
               "-x", "y")
    assert "['-x', 'y'] __main__" in said
    with tracesmith.open(tmp_path / "s.sbt") as t:
        found = names(t)
        assert found.count("inner") == 4 and found.count("outer") == 1
        assert found.count("gen") == 3 and found.count("fails") == 1
        assert not [s for s in t.sites if "/lib/python3" in s["file"]]
        assert t.info["finished"] and t.info["lost"] == 0


def test_the_exit_status_is_the_scripts(run, tmp_path):
    (tmp_path / "s.py").write_text(SCRIPT)
    run(None, "-m", "tracesmith", "record", "-o", "s.sbt", "s.py", "leave",
        status=5)
    assert tracesmith.open(tmp_path / "s.sbt").info["finished"]
    said = run(None, "-m", "tracesmith", "record", "-o", "/nonexistent/s.sbt",
               "s.py", status=1)
    assert "tracesmith: /nonexistent/s.sbt" in said and "Traceback" not in said
    run(None, "-m", "tracesmith", status=2)


def test_a_module_is_run_as_a_module(run, tmp_path):
    (tmp_path / "mod.py").write_text("def f(): pass\nf()\nprint(__name__)\n")
    said = run(None, "-m", "tracesmith", "record", "-m", "mod")
    assert "__main__" in said
    assert "f" in names(tracesmith.open(tmp_path / "trace.sbt"))


PROGRAM = """
import multiprocessing, sys, threading
import tracesmith
@tracesmith.zone
def work(n):
    return n * n
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with tracesmith.record("t.sbt", children=True) as r:
        with context.Pool(2) as pool:
            assert pool.map(work, range(20), 1) == [n * n for n in range(20)]
            pool.close()
            pool.join()
        work(3)
    r.merge("all.sbt")
    print(len(r.children))
"""


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_child_processes_record_into_traces_of_their_own(run, tmp_path, how):
    (tmp_path / "p.py").write_text(PROGRAM)
    run(None, "p.py", how)
    found = glob.glob(str(tmp_path / "t.*.sbt"))
    assert len(found) >= 2
    count = 0
    for path in found:
        with tracesmith.open(path) as t:
            assert t.info["finished"], path
            count += t.info["counts"].get("zone", 0)
    assert count == 20
    with tracesmith.open(tmp_path / "t.sbt") as t:
        assert t.info["counts"]["zone"] == 1
    with tracesmith.open(tmp_path / "all.sbt") as t:
        assert t.info["counts"]["zone"] == 21


def test_a_child_without_children_is_quiet(run, tmp_path):
    run("""
import os, tracesmith
with tracesmith.record("t.sbt"):
    tracesmith.mark("parent")
    pid = os.fork()
    if not pid:
        tracesmith.mark("child")
        os._exit(0)
    os.waitpid(pid, 0)
""")
    assert names(tracesmith.open(tmp_path / "t.sbt"), "mark") == ["parent"]
    assert not glob.glob(str(tmp_path / "t.*.sbt"))


def test_what_a_killed_process_recorded_is_there(run, tmp_path):
    run("""
import os, signal, tracesmith
tracesmith.record("t.sbt").start()
for _ in range(1000):
    with tracesmith.zone("z"): pass
os.kill(os.getpid(), signal.SIGKILL)
""", status=-9)
    with tracesmith.open(tmp_path / "t.sbt") as t:
        assert t.info["counts"]["zone"] == 1000


def test_threads_of_a_script_are_recorded(run, tmp_path):
    (tmp_path / "s.py").write_text("""
import threading
def work(): pass
threads = [threading.Thread(target=work) for _ in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]
""")
    run(None, "-m", "tracesmith", "record", "s.py")
    t = tracesmith.open(tmp_path / "trace.sbt")
    assert names(t).count("work") == 3
