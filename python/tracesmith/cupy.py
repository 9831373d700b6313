"""CuPy: memory of its pool as allocations.

    with tracesmith.record("t.sbt", gpu=True), tracesmith.cupy.memory():
        ...

Not tried with CuPy itself yet: tested against a double of its hooks.
"""
from . import _tracesmith as native

__all__ = ["memory"]


def memory(pool="cupy"):
    """A hook, which is a context manager: while it is open, what CuPy takes
    from its memory pool and gives back is recorded."""
    from cupy import cuda

    class Memory(cuda.MemoryHook):
        name = "tracesmith"

        def malloc_postprocess(self, **kwargs):
            native.alloc(kwargs["mem_ptr"], kwargs["mem_size"], pool)

        def free_postprocess(self, **kwargs):
            native.free(kwargs["mem_ptr"], pool)

    return Memory()
