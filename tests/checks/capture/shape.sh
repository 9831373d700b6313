#!/bin/sh
# Prints the contents of a trace, without times and numbers that differ from
# run to run.
#   tests/checks/capture/shape.sh TRACE
build/ts-view --events "$1" | sed -E '
    s/^ *[0-9.]+ s +([0-9.]+ [mun]?s +)?//
    s/ +id=[0-9]+//
    s/  +/|/
    s/  +/|/
    s/(  +|$)/|/'
