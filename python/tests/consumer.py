"""A program that has the package and nothing else, also not numpy."""
import sys

import tracesmith

assert "-packages" in tracesmith.__file__, tracesmith.__file__
assert "numpy" not in sys.modules


@tracesmith.zone
def square(n):
    return n * n


with tracesmith.record("consumer.sbt", gpu=True):
    for i in range(100):
        with tracesmith.zone("step"):
            tracesmith.counter("square", square(i))
with tracesmith.open("consumer.sbt") as t:
    rows = t.query("SELECT name, count(*) AS n FROM zone GROUP BY name")
    assert list(rows) == [("square", 100), ("step", 100)], rows
    assert list(t.events("counter")["value"]) == [i * i for i in range(100)]
print("tracesmith", tracesmith.__version__, "works")
