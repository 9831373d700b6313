"""JAX: what jax.monitoring reports, and functions with their waits.

    with tracesmith.record("t.sbt", gpu=True):
        tracesmith.jax.install()
        train = tracesmith.jax.traced(jax.jit(train))

Not tried with JAX itself yet: tested against a double of these hooks.
"""
import functools

from . import _tracesmith as native

__all__ = ["install", "traced"]

_installed = False


def _event(event, **kwargs):
    native.mark(event)


def _duration(event, duration, **kwargs):
    native.counter(event + " (s)", duration)
    native.mark(event)


def install():
    """Records events of jax.monitoring as marks, durations (of compilations)
    as samples of a counter, too. JAX has no public way to take it back."""
    global _installed
    if _installed:
        return
    from jax import monitoring
    monitoring.register_event_listener(_event)
    monitoring.register_event_duration_secs_listener(_duration)
    _installed = True


def traced(function, name=None):
    """A function whose dispatch and whose wait for the device are zones."""
    import jax
    name = name or getattr(function, "__name__", "jax")
    waits = name + " (wait)"

    @functools.wraps(function)
    def called(*args, **kwargs):
        with native.zone(name):
            result = function(*args, **kwargs)
        with native.zone(waits):
            return jax.block_until_ready(result)
    return called
