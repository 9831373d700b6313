"""Record, read and replay traces of programs and GPUs.

    import tracesmith

    @tracesmith.zone
    def work(): ...

    with tracesmith.record("t.sbt"):
        work()
    t = tracesmith.open("t.sbt")
    t.events("zone").dataframe()

docs/python.md is the manual.
"""
from . import _tracesmith as _native
from ._errors import Error, TraceWarning
from ._record import (Recording, flow_end, flow_start, flow_step, record,
                      task_factory, _after_start)
from ._trace import (Columns, Report, Rows, Trace, Track, analyze,
                     diff, import_files, merge, open, query, topics,
                     view)

__version__ = _native.version

zone = _native.zone
mark = _native.mark
message = _native.message
counter = _native.counter
counter_define = _native.counter_define
frame = _native.frame
alloc = _native.alloc
free = _native.free
value = _native.zone_value
text = _native.zone_text
thread_name = _native.thread_name
metadata = _native.metadata
span_begin = _native.span_begin
span_end = _native.span_end
Writer = _native.Writer

__all__ = [
    "Columns", "Error", "Recording", "Report", "Rows", "Trace", "TraceWarning",
    "Track", "Writer", "alloc", "analyze", "counter",
    "counter_define", "diff", "flow_end", "flow_start", "flow_step", "frame",
    "free", "import_files", "mark", "merge", "message", "metadata", "open",
    "query", "record", "span_begin", "span_end", "task_factory", "text",
    "thread_name", "topics", "value", "view", "zone",
]

# Imported when they are used, as what they trace need not be installed.
_HOOKS = {"torch", "jax", "triton", "tvm", "tensorflow", "cupy"}


def __getattr__(name):
    """Hooks of frameworks, and the names of the predecessor."""
    import importlib
    if name in _HOOKS:
        return importlib.import_module("." + name, __name__)
    if name.startswith("_"):
        raise AttributeError(name)
    predecessor = importlib.import_module(".predecessor", __name__)
    found = predecessor.find(name)
    if found is None:
        raise AttributeError("module 'tracesmith' has no attribute %r" % name)
    import warnings
    warnings.warn("tracesmith.%s is the predecessor's; instead: %s"
                  % (name, found[1]), DeprecationWarning, stacklevel=2)
    return found[0]


_after_start()
del _after_start
