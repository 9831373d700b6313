"""What a program records is in the trace."""
import asyncio
import inspect
import pickle
import threading
from collections import Counter

import pytest

import tracesmith
from conftest import names


def test_a_zone_has_its_name_its_place_and_its_time(path):
    with tracesmith.record(path):
        with tracesmith.zone("outer"):
            with tracesmith.zone("inner"):
                pass
    with tracesmith.open(path) as t:
        rows = {r["name"]: r for r in t.events("zone").rows()}
        outer, inner = rows["outer"], rows["inner"]
        assert outer["start_ns"] <= inner["start_ns"]
        assert (inner["start_ns"] + inner["duration_ns"]
                <= outer["start_ns"] + outer["duration_ns"])
        site = [s for s in t.sites if s["name"] == "outer"][0]
        assert site["file"] == __file__
        assert site["function"].startswith("test_a_zone_has")


def test_a_function_is_a_zone_and_stays_what_it_was(path):
    @tracesmith.zone
    def add(a, b=2, *, c=0):
        "Adds."
        return a + b + c

    assert add.__name__ == "add" and add.__doc__ == "Adds."
    assert str(inspect.signature(add)) == "(a, b=2, *, c=0)"
    with tracesmith.record(path):
        assert add(1) == 3 and add(1, 3, c=4) == 8
        with pytest.raises(TypeError):
            add()
    with tracesmith.open(path) as t:
        assert names(t) == ["add"] * 3
        assert [s["line"] for s in t.sites if s["name"] == "add"] == [
            add.__wrapped__.__code__.co_firstlineno]


def test_methods_of_all_kinds(path):
    class Thing:
        @tracesmith.zone("Thing.go", category="io", color=0x123456)
        def go(self, x):
            return self, x

        @tracesmith.zone
        @staticmethod
        def of(x):
            return x

        @tracesmith.zone
        @classmethod
        def made(cls):
            return cls

    thing = Thing()
    with tracesmith.record(path):
        bound = thing.go
        assert thing.go(1) == (thing, 1) and bound(2) == (thing, 2)
        assert Thing.of(3) == 3 and Thing.made() is Thing
    with tracesmith.open(path) as t:
        assert names(t)[:2] == ["Thing.go"] * 2
        assert [n.split(".")[-1] for n in names(t)[2:]] == ["of", "made"]
        assert any(s["category"] == "io" and s["color"] == 0x123456
                   for s in t.sites)


def test_an_exception_ends_the_zone(path):
    with tracesmith.record(path):
        with pytest.raises(KeyError):
            with tracesmith.zone("fails"):
                raise KeyError
        with tracesmith.zone("after"):
            pass
    with tracesmith.open(path) as t:
        assert names(t) == ["fails", "after"]
        assert "zone_open" not in t.info["counts"]


def test_one_zone_object_in_many_threads_and_inside_of_itself(path):
    shared = tracesmith.zone("shared")

    def work():
        for _ in range(100):
            with shared:
                with shared:
                    pass

    with tracesmith.record(path):
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with tracesmith.open(path) as t:
        events = t.events("zone")
        assert events.row_count == 1600
        assert set(Counter(events["track"]).values()) == {200}


def test_nothing_is_recorded_outside_of_a_session(path):
    with tracesmith.zone("before"):
        tracesmith.mark("before")
    with tracesmith.record(path):
        tracesmith.mark("in")
    tracesmith.mark("after")
    with tracesmith.open(path) as t:
        assert t.info["counts"] == {"mark": 1}


def test_moments_counters_memory_frames_and_facts(path):
    tracesmith.counter_define("bytes", "B")
    with tracesmith.record(path):
        tracesmith.metadata("run", 7)
        tracesmith.metadata("kind", "test")
        tracesmith.thread_name("worker")
        tracesmith.mark("m")
        tracesmith.message("says \u00e9")
        for value in (1, 0.5, True, 2**40, 2**70):
            tracesmith.counter("bytes", value)
        tracesmith.frame("step")
        with tracesmith.zone("z"):
            tracesmith.value("n", 3)
            tracesmith.value("r", 0.25)
            tracesmith.text("note")
            tracesmith.alloc(4096, 64, "pool", "weights")
            tracesmith.free(4096, "pool")
            tracesmith.flow_start(9)
        with tracesmith.zone("z2"):
            tracesmith.flow_end(9)
    with tracesmith.open(path) as t:
        assert t.metadata["run"] == 7 and t.metadata["kind"] == "test"
        assert "worker" in [k.name for k in t.tracks if k.type == "thread"]
        assert [k.unit for k in t.tracks if k.name == "bytes"] == ["B"]
        assert t.events("message")["text"] == ["says \u00e9"]
        assert list(t.events("counter")["value"]) == [1, 0.5, 1, 2**40, 2**70]
        arguments = list(t.events("zone_arg").rows())
        assert [(a["name"], a["value"]) for a in arguments[:2]] == [
            ("n", 3), ("r", 0.25)]
        assert arguments[2]["text"] == "note"
        alloc = next(t.events("alloc").rows())
        assert (alloc["address"], alloc["size"]) == (4096, 64)
        assert list(t.events("flow")["phase"]) == [1, 3]
        assert t.info["counts"]["frame"] == 1


def test_a_task_is_a_span_wherever_it_goes(path):
    @tracesmith.zone
    async def fetch(n):
        async with tracesmith.zone("wait"):
            await asyncio.sleep(0.001 * n)
        return n

    @tracesmith.zone("numbers")
    async def numbers():
        for i in range(3):
            await asyncio.sleep(0)
            yield i

    async def main():
        asyncio.get_running_loop().set_task_factory(tracesmith.task_factory)
        assert await asyncio.gather(*map(fetch, range(4))) == [0, 1, 2, 3]
        assert [i async for i in numbers()] == [0, 1, 2]

    with tracesmith.record(path):
        asyncio.run(main())
    with tracesmith.open(path) as t:
        spans = t.events("span")
        ids = Counter(spans["id"])
        assert set(ids.values()) == {2}  # each begins and ends
        begun = Counter(name for name, phase in
                        zip(spans.texts("name"), spans["phase"])
                        if phase == 1)
        here = "test_a_task_is_a_span_wherever_it_goes.<locals>."
        assert begun["wait"] == 4 and begun["numbers"] == 1
        # The function, and the task that the factory made for it.
        assert begun["fetch"] == 4 and begun[here + "fetch"] == 4


def test_spans_of_one_object_belong_to_their_tasks(path):
    shared = tracesmith.zone("shared")

    async def one(first, second):
        async with shared:
            await asyncio.sleep(first)
        await asyncio.sleep(second)

    async def main():
        await asyncio.gather(one(0.02, 0), one(0.001, 0))

    with tracesmith.record(path):
        asyncio.run(main())
    with tracesmith.open(path) as t:
        rows = sorted(t.events("span").rows(), key=lambda r: r["start_ns"])
        assert [r["phase"] for r in rows] == [1, 1, 3, 3]
        # The second to begin, which sleeps less, ends first.
        assert rows[2]["id"] == rows[1]["id"] and rows[3]["id"] == rows[0]["id"]


def test_a_generator_is_a_span(path):
    @tracesmith.zone
    def items():
        got = yield 1
        yield got
        return 5

    with tracesmith.record(path):
        g = items()
        assert next(g) == 1 and g.send(7) == 7
        with pytest.raises(StopIteration) as end:
            next(g)
        assert end.value.value == 5
    with tracesmith.open(path) as t:
        assert list(t.events("span")["phase"]) == [1, 3]


@tracesmith.zone
def at_the_top():
    return 1


def test_a_function_of_a_module_can_be_pickled():
    assert pickle.loads(pickle.dumps(at_the_top)) is at_the_top


def test_functions_of_some_files_and_of_all(path):
    import json

    def own():
        return json.dumps({"a": [1]})

    def recorded(functions):
        with tracesmith.record(path, functions=functions):
            own()
        with tracesmith.open(path) as t:
            return {n.split(".")[-1] for n in names(t)}

    assert recorded(True) == {"own"}
    assert recorded([json.__path__[0]]) >= {"dumps", "encode"}
    assert "own" not in recorded(json.__path__[0])
    assert recorded("all") >= {"own", "dumps"}


def test_what_cannot_be_a_zone_is_refused():
    with pytest.raises(TypeError, match="decorates functions"):
        tracesmith.zone(int)
    with pytest.raises(TypeError):
        tracesmith.zone(3)
    with pytest.raises(TypeError, match="must be a str"):
        tracesmith.mark(b"bytes")
    with pytest.raises(TypeError):
        tracesmith.counter("c", "text")


def test_a_second_session_is_refused_and_says_so(path):
    with tracesmith.record(path):
        with pytest.raises(tracesmith.Error) as error:
            tracesmith.record(path + "2").start()
        assert error.value.result == "TS_ERR_STATE"
        assert "stop it before" in str(error.value)


def test_errors_say_what_where_and_what_to_do():
    with pytest.raises(tracesmith.Error) as error:
        tracesmith.record("/nonexistent/t.sbt").start()
    e = error.value
    assert e.what and e.todo and e.where == "/nonexistent/t.sbt"
    assert str(e).startswith("/nonexistent/t.sbt: ") and str(e).endswith(e.todo)
    with pytest.raises(tracesmith.Error, match="help, drop, overwrite, block"):
        tracesmith.record("t.sbt", policy="fast")


def test_stats_and_pause(path):
    with tracesmith.record(path, policy="block", ring_bytes=65536) as r:
        tracesmith.mark("a")
        r.pause()
        tracesmith.mark("not")
        assert not r.stats()["recording"]
        r.resume()
        tracesmith.mark("b")
        r.flush()
        assert r.stats()["records"] == 2 and r.stats()["lost"] == 0
    with tracesmith.open(path) as t:
        assert names(t, "mark") == ["a", "b"]


def test_a_flight_recorder_writes_a_dump(path, tmp_path):
    dump = str(tmp_path / "dump.sbt")
    with tracesmith.record(path, policy="overwrite") as r:
        for _ in range(1000):
            tracesmith.mark("tick")
        r.snapshot(dump)
    with tracesmith.open(dump) as t:
        assert t.info["counts"]["mark"] > 0


def test_names_without_end_are_kept(path):
    with tracesmith.record(path):
        for i in range(70000):
            with tracesmith.zone("n%d" % i):
                pass
    with tracesmith.open(path) as t:
        events = t.events("zone")
        assert len(set(events.texts("name"))) == 70000
