"""Triton: launches of kernels as zones of the host.

    with tracesmith.record("t.sbt", gpu=True), tracesmith.triton.launches():
        kernel[grid](...)

Not tried with Triton itself yet: tested against a double of its hooks.
"""
from . import _tracesmith as native

__all__ = ["launches"]


def _name(metadata):
    """The name of a kernel from what a hook is given."""
    if hasattr(metadata, "get") and not isinstance(metadata, dict):
        metadata = metadata.get()  # made when it is asked for
    if isinstance(metadata, dict):
        return str(metadata.get("name", "triton kernel"))
    return str(getattr(metadata, "name", "triton kernel"))


class launches:
    """While it is open, each launch is a zone "launch KERNEL"."""

    def __init__(self):
        self._zones = {}
        self._before = None

    def _place(self):
        """Where hooks are, since Triton 3.4 and before."""
        import triton
        knobs = getattr(triton, "knobs", None)
        if knobs is not None:
            return knobs.runtime
        from triton.compiler import CompiledKernel
        return CompiledKernel

    def _zone(self, metadata):
        name = "launch " + _name(metadata)
        zone = self._zones.get(name)
        if zone is None:
            zone = self._zones[name] = native.zone(name)
        return zone

    def _enter(self, metadata):
        self._zone(metadata).__enter__()

    def _exit(self, metadata):
        self._zone(metadata).__exit__(None, None, None)

    def __enter__(self):
        place = self._place()
        self._before = (place.launch_enter_hook, place.launch_exit_hook)
        enter, leave = self._before

        def begin(metadata):
            if enter:
                enter(metadata)
            self._enter(metadata)

        def end(metadata):
            self._exit(metadata)
            if leave:
                leave(metadata)
        place.launch_enter_hook = begin
        place.launch_exit_hook = end
        return self

    def __exit__(self, kind, error, trace):
        place = self._place()
        place.launch_enter_hook, place.launch_exit_hook = self._before
