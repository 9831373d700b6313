#!/bin/sh
# Says which rows of two runs of the benchmarks differ by more than noise.
#   bench/compare.sh OLD NEW    two files of bench/results/*.json, or two lists
#                               of instructions, as bench/instructions.txt
# A row's figure is held against its yardstick, if it has one: of the same run,
# so that a slower machine is not a slower program. Noise is what the row itself
# showed: each file keeps the least and the next of several runs (`spread`), and
# a difference counts if it exceeds three times the larger spread of the two,
# and 3 %. Counted instructions have no noise: they count from 3 % on.
# Exit status 1: something is worse, or a row of OLD is missing in NEW.
set -eu
test $# = 2 || {
    echo "usage: bench/compare.sh OLD NEW" >&2
    exit 2
}
awk -F '\t' -f "$(dirname "$0")/compare.awk" "$1" "$2"
