"""cost.py TRACE: what `with zone("name"):` costs, in `with memoryview`.

Processor time, the least of several; both in turn, so that a machine that is
slow for a while is slow for both. It fails only if a zone is not recorded: the
figure is for docs/python.md, no verdict.
"""
import sys
import time

import tracesmith
from tracesmith import zone

TIMES, ROUNDS = 50000, 15


def views(buffer=b"x"):
    for _ in range(TIMES):
        with memoryview(buffer):
            pass


def zones():
    for _ in range(TIMES):
        with zone("zone"):
            pass


@zone
def function():
    pass


def calls(call=function):
    for _ in range(TIMES):
        call()


def plain():
    calls(function.__wrapped__)


def cost(work):
    before = time.process_time_ns()
    work()
    return (time.process_time_ns() - before) / TIMES


path = sys.argv[1]
least = {}
with tracesmith.record(path):
    for _ in range(ROUNDS):
        for work in (views, zones, calls, plain):
            ns = cost(work)
            least[work] = min(ns, least.get(work, ns))
ratio = least[zones] / least[views]
print("with memoryview %.0f ns, with zone %.0f ns: %.2f times; a decorated "
      "function costs %.0f ns more" % (
          least[views], least[zones], ratio, least[calls] - least[plain]))
with tracesmith.open(path) as t:
    assert t.info["counts"]["zone"] == 2 * TIMES * ROUNDS
