"""Recording: sessions, zones of functions, child processes."""
import functools
import glob
import inspect
import json
import os
import sys
import threading

from . import _tracesmith as native
from ._errors import Error

_POLICIES = {"help": 0, "drop": 1, "overwrite": 2, "block": 3}
_CHILD = "TRACESMITH_PYTHON_CHILD"  # how a process started by us records

# ---- Zones of functions ----------------------------------------------------


def _place(function, name, category=None, color=None):
    """A zone at the definition of a function."""
    code = getattr(function, "__code__", None)
    qualified = getattr(function, "__qualname__", None) or repr(function)
    return native.site_zone(
        name or qualified.rpartition("<locals>.")[2], category, qualified,
        code.co_filename if code else None, code.co_firstlineno if code else 0,
        color or 0)


def _spanned(function, zone):
    """For functions that wait: a span from the call to the end."""
    begin, end = native.span_begin, native.span_end
    if inspect.iscoroutinefunction(function):
        async def spanned(*args, **kwargs):
            span = begin(zone)
            try:
                return await function(*args, **kwargs)
            finally:
                end(span)
    elif inspect.isasyncgenfunction(function):
        async def spanned(*args, **kwargs):
            span = begin(zone)
            inner = function(*args, **kwargs)
            try:
                async for item in inner:
                    yield item
            finally:
                await inner.aclose()
                end(span)
    else:
        def spanned(*args, **kwargs):
            span = begin(zone)
            try:
                return (yield from function(*args, **kwargs))
            finally:
                end(span)
    return functools.wraps(function)(spanned)


def _decorate(function, name=None, more=(None, None)):
    """more: category and colour."""
    category, color = more
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(
            _decorate(function.__func__, name, more))
    if isinstance(function, type) or not callable(function):
        raise TypeError("zone decorates functions, not %r" % (function,))
    zone = _place(function, name, category, color)
    if (inspect.iscoroutinefunction(function)
            or inspect.isasyncgenfunction(function)
            or inspect.isgeneratorfunction(function)):
        return _spanned(function, zone)
    made = native.zoned(function, zone)
    for key in functools.WRAPPER_ASSIGNMENTS:
        if hasattr(function, key):
            setattr(made, key, getattr(function, key))
    for key, value in getattr(function, "__dict__", {}).items():
        if key != "__wrapped__":
            setattr(made, key, value)
    return made


def _other_zone(what=None, category=None, color=None):
    """zone(...) in its rarer forms; the extension does zone("name")."""
    if isinstance(what, str):
        frame = sys._getframe(1)
        return native.site_zone(what, category, frame.f_code.co_name,
                                frame.f_code.co_filename, frame.f_lineno,
                                color or 0)
    if what is None:
        return lambda function: _decorate(function, None, (category, color))
    return _decorate(what, None, (category, color))


native.zone_other(_other_zone)

# ---- asyncio ---------------------------------------------------------------


async def _follow(coroutine, zone):
    span = native.span_begin(zone)
    try:
        return await coroutine
    finally:
        native.span_end(span)


def task_factory(loop, coroutine, **kwargs):
    """Makes every task a span: loop.set_task_factory(tracesmith.task_factory).

    The span has the name of the coroutine and lasts as long as the task, on
    whatever thread it ends.
    """
    import asyncio
    code = getattr(coroutine, "cr_code", None)
    zone = _zone_of(getattr(coroutine, "__qualname__", "task"),
                    code and code.co_filename, code and code.co_firstlineno)
    return asyncio.Task(_follow(coroutine, zone), loop=loop, **kwargs)


@functools.lru_cache(maxsize=4096)
def _zone_of(name, file, line):
    return native.site_zone(name, None, name, file, line or 0)

# ---- Functions without a decorator -----------------------------------------


def _wanted(functions):
    """Whose functions are zones: True, "all", or folders and files."""
    if functions == "all":
        return lambda file, name: not name.startswith("<module>")
    own = os.path.dirname(os.path.abspath(__file__)) + os.sep
    if functions is True:
        import sysconfig
        paths = sysconfig.get_paths()
        without = tuple(os.path.abspath(paths[key]) + os.sep
                        for key in ("stdlib", "platstdlib", "purelib",
                                    "platlib") if paths.get(key))
        without += (os.sep + "usr" + os.sep + "lib" + os.sep, own)

        def wanted(file, name):
            return (not file.startswith("<")
                    and not os.path.abspath(file).startswith(without))
        return wanted
    folders = [functions] if isinstance(functions, (str, os.PathLike)) \
        else functions
    within = tuple(os.path.abspath(os.fspath(f)) for f in folders)
    return lambda file, name: os.path.abspath(file).startswith(within)


def _profile(functions):
    native.profile_begin(_wanted(functions))
    set_all = getattr(threading, "setprofile_all_threads", None)
    if set_all:  # since 3.12; before, threads that run already are left out
        set_all(native.profile)
    threading.setprofile(native.profile)
    sys.setprofile(native.profile)


def _profile_end():
    sys.setprofile(None)
    threading.setprofile(None)
    set_all = getattr(threading, "setprofile_all_threads", None)
    if set_all:
        set_all(None)

# ---- Sessions --------------------------------------------------------------


def _devices():
    """The library with the backends of vendors."""
    folder = os.path.dirname(os.path.abspath(__file__))
    found = glob.glob(os.path.join(glob.escape(folder), "_devices*.so"))
    if not found:
        raise Error("the library of devices is missing", folder,
                    "Install tracesmith again.", "TS_ERR_NOT_FOUND")
    return found[0]


class Recording:
    """A session, as record() makes it: a context manager."""

    def __init__(self, path, *, gpu=False, functions=False, children=False,
                 policy="help", memory_bytes=0, ring_bytes=0, flush_ms=0,
                 rank=0, compress=0, snapshot_path=None, snapshot_signal=0,
                 app=None):
        if policy not in _POLICIES:
            raise Error("policy %r is unknown" % (policy,), "",
                        "It is one of " + ", ".join(_POLICIES) + ".")
        self.path = os.fspath(path)
        self._gpu = gpu
        self._functions = functions
        self._children = children
        self._options = {
            "policy": _POLICIES[policy], "memory": memory_bytes,
            "ring": ring_bytes, "flush_ms": flush_ms, "rank": rank,
            "compress": compress, "snapshot_signal": snapshot_signal,
            "app": app or os.path.basename(sys.argv[0] if sys.argv else "")
            or None}
        if snapshot_path is not None:
            self._options["snapshot"] = os.fspath(snapshot_path)
        self._before = {}
        self._running = False

    def start(self):
        """Starts to record; returns the recording."""
        global _current
        if self._gpu:
            self._listen()
        native.start(self.path, **self._options)
        self._running = True
        _current = self
        native.metadata("python.version", sys.version.split()[0])
        if self._children:
            self._set(_CHILD, json.dumps({
                "parent": os.getpid(), "path": os.path.abspath(self.path),
                "gpu": bool(self._gpu), "functions": self._functions
                if isinstance(self._functions, (bool, str, list)) else True}))
        if self._functions:
            _profile(self._functions)
        return self

    def stop(self):
        """Completes the trace. A second time does nothing."""
        global _current
        if not self._running:
            return
        self._running = False
        _current = None
        if self._functions:
            _profile_end()
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self._before = {}
        native.stop()

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, error, trace):
        self.stop()

    def _set(self, name, value):
        self._before.setdefault(name, os.environ.get(name))
        os.environ[name] = value

    def _listen(self):
        """Devices: by their vendors' interfaces, OpenCL's and NVTX's loader."""
        library = _devices()
        native.gpu(library)
        for name in ("OPENCL_LAYERS", "NVTX_INJECTION64_PATH"):
            if not os.environ.get(name):
                self._set(name, library)

    @property
    def children(self):
        """The traces of child processes, so far."""
        return sorted(glob.glob(_child_path(glob.escape(self.path), "*")))

    def merge(self, output):
        """Makes one trace of this process's and those of its children."""
        from ._trace import merge
        return merge([self.path] + self.children, output)

    stats = staticmethod(native.stats)
    pause = staticmethod(native.pause)
    resume = staticmethod(native.resume)
    flush = staticmethod(native.flush)
    snapshot = staticmethod(native.snapshot)


_current = None


def record(path, **options):
    """Records into a trace: `with tracesmith.record("t.sbt"): ...`.

    gpu: record devices, too: CUDA (CUPTI), MACA (MCPTI), HIP, OpenCL and NVTX,
        as far as their libraries are there (False).
    functions: every call of a Python function is a zone: of your own files
        (True), of all ("all"), or of a list of folders and files (False).
    children: Python processes that this one forks or starts record, too,
        each into a trace of its own, PATH.PID.sbt (False).
    policy: on a full ring "help", "drop", "overwrite" (a flight recorder) or
        "block" ("help").
    memory_bytes, ring_bytes, flush_ms, rank, compress, snapshot_path,
    snapshot_signal, app: as ts_session_desc of tracesmith.h has them.
    """
    return Recording(path, **options)

# ---- Child processes -------------------------------------------------------


def _child_path(path, process):
    base = path[:-4] if path.endswith(".sbt") else path
    return "%s.%s.sbt" % (base, process)


def _record_child(path, gpu, functions):
    """Records this process, until it ends."""
    recording = Recording(_child_path(path, os.getpid()), gpu=gpu,
                          functions=functions)
    try:
        recording.start()
    except Error as error:
        native_error = "tracesmith: this process is not recorded: %s" % error
        print(native_error, file=sys.stderr)
        return
    # Such processes end by os._exit, which runs no exit handler of C.
    util = sys.modules.get("multiprocessing.util")
    if util:
        util.Finalize(None, recording.stop, exitpriority=-100)
    else:
        import atexit
        atexit.register(recording.stop)


def _after_fork():
    global _current
    parent, _current = _current, None
    if parent is None:
        return
    parent._running = False  # it is the parent's to stop
    parent._before = {}
    if parent._functions:
        _profile_end()
    if parent._children:
        _record_child(parent.path, parent._gpu, parent._functions)


def _after_start():
    """In a process that one of ours started, as `spawn` does."""
    try:
        child = json.loads(os.environ.get(_CHILD, "null"))
    except ValueError:
        return
    if child and child.get("parent") != os.getpid():
        _record_child(child["path"], child["gpu"], child["functions"])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

# ---- Flows -----------------------------------------------------------------


def flow_start(number):
    """Begins an arrow in the zone around the call."""
    native.flow(number, 1)


def flow_step(number):
    """Leads an arrow through the zone around the call."""
    native.flow(number, 2)


def flow_end(number):
    """Ends an arrow in the zone around the call."""
    native.flow(number, 3)
