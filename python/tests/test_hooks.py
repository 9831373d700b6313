"""Hooks of frameworks against doubles of their public interfaces."""
import sys
import types

import pytest

import tracesmith
from conftest import names


@pytest.fixture
def double(monkeypatch):
    """Puts a module of this name in place of the framework."""
    def make(name, **members):
        module = types.ModuleType(name)
        for key, value in members.items():
            setattr(module, key, value)
        monkeypatch.setitem(sys.modules, name, module)
        return module
    return make


def test_jax(double, path):
    listeners = {"event": [], "duration": []}
    monitoring = double(
        "jax.monitoring",
        register_event_listener=listeners["event"].append,
        register_event_duration_secs_listener=listeners["duration"].append)
    waited = []
    double("jax", monitoring=monitoring,
           block_until_ready=lambda x: waited.append(x) or x)
    with tracesmith.record(path):
        tracesmith.jax.install()
        tracesmith.jax.install()  # a second time does nothing
        assert [len(each) for each in listeners.values()] == [1, 1]
        listeners["event"][0]("/jax/cache_miss")
        listeners["duration"][0]("/jax/compile", 0.25, fun_name="f")
        assert tracesmith.jax.traced(lambda x: x + 1, "train")(1) == 2
    assert waited == [2]
    with tracesmith.open(path) as t:
        assert names(t, "mark") == ["/jax/cache_miss", "/jax/compile"]
        assert list(t.events("counter")["value"]) == [0.25]
        assert names(t) == ["train", "train (wait)"]


class Lazy:
    """What Triton gives a hook: a dict that is made on request."""

    def get(self):
        return {"name": "matmul", "stream": 0}


@pytest.mark.parametrize("old", [False, True])
def test_triton(double, path, old):
    seen = []
    place = types.SimpleNamespace(launch_enter_hook=seen.append,
                                  launch_exit_hook=None)
    if old:
        double("triton")
        double("triton.compiler", CompiledKernel=place)
    else:
        double("triton", knobs=types.SimpleNamespace(runtime=place))
    before = place.launch_enter_hook
    with tracesmith.record(path), tracesmith.triton.launches():
        for _ in range(2):
            place.launch_enter_hook(Lazy())
            place.launch_exit_hook(Lazy())
    assert place.launch_enter_hook is before and place.launch_exit_hook is None
    assert len(seen) == 2  # a hook that was there is called as well
    with tracesmith.open(path) as t:
        assert names(t) == ["launch matmul"] * 2


def test_tvm(double, path):
    made = []
    instrument = types.SimpleNamespace(
        pass_instrument=lambda kind: made.append(kind) or kind)
    double("tvm", instrument=instrument)
    with tracesmith.record(path):
        passes = tracesmith.tvm.passes()
        outer, inner = (types.SimpleNamespace(name=n) for n in ("sequential",
                                                                "FuseOps"))
        passes.run_before_pass(None, outer)
        passes.run_before_pass(None, inner)
        passes.run_after_pass(None, inner)
        passes.run_after_pass(None, outer)
    assert len(made) == 1
    with tracesmith.open(path) as t:
        assert names(t) == ["pass sequential", "pass FuseOps"]
        assert t.info["counts"]["zone"] == 2


def test_tensorflow(double, path):
    class Callback:
        """As keras.callbacks.Callback: it does nothing."""

    keras = types.SimpleNamespace(
        callbacks=types.SimpleNamespace(Callback=Callback))
    double("tensorflow", keras=keras)
    with tracesmith.record(path):
        callback = tracesmith.tensorflow.callback()
        assert isinstance(callback, Callback)
        callback.on_epoch_begin(0)
        for batch in range(2):
            callback.on_train_batch_begin(batch)
            callback.on_train_batch_end(batch, {"loss": 0.5})
        callback.on_epoch_end(0, {})
    with tracesmith.open(path) as t:
        assert names(t) == ["epoch", "train batch", "train batch"]
        assert list(t.events("counter")["value"]) == [0.5, 0.5]
        assert t.info["counts"]["frame"] == 2


def test_cupy(double, path):
    class MemoryHook:
        """As cupy.cuda.MemoryHook: a context manager with hooks."""

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

    double("cupy", cuda=types.SimpleNamespace(MemoryHook=MemoryHook))
    with tracesmith.record(path), tracesmith.cupy.memory() as hook:
        assert isinstance(hook, MemoryHook)
        hook.malloc_postprocess(device_id=0, size=100, mem_size=512,
                                mem_ptr=0x7000, pmem_id=1)
        hook.free_postprocess(device_id=0, mem_size=512, mem_ptr=0x7000,
                              pmem_id=1)
    with tracesmith.open(path) as t:
        row = next(t.events("alloc").rows())
        assert (row["address"], row["size"]) == (0x7000, 512)
        assert t.info["counts"]["free"] == 1


def test_a_framework_that_is_not_there(run):
    said = run("""
import sys
sys.modules["torch"] = None
import tracesmith
try: tracesmith.torch
except ImportError as error: print("ImportError", error)
assert "tensorflow" not in sys.modules
""")
    assert "ImportError" in said and "torch" in said
