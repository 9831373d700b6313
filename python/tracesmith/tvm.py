"""TVM: passes of the compiler as zones.

    with tvm.transform.PassContext(instruments=[tracesmith.tvm.passes()]):
        tvm.build(...)

Not tried with TVM itself yet: tested against a double of its interface.
"""
from . import _tracesmith as native

__all__ = ["passes"]


def passes():
    """An instrument for PassContext: each pass is a zone of its name."""
    import tvm

    @tvm.instrument.pass_instrument
    class Passes:
        def __init__(self):
            self.open = []

        def run_before_pass(self, module, info):
            zone = native.zone("pass " + str(info.name))
            zone.__enter__()
            self.open.append(zone)

        def run_after_pass(self, module, info):
            if self.open:
                self.open.pop().__exit__(None, None, None)

    return Passes()
