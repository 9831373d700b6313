#!/bin/sh
# usage: counts.sh TRACE SUMMARY RAN [OPTIONS...]: runs captured operations
# again; each operation counts once. SUMMARY: the summary that ts-record
# printed, or the number of operations that it should have named. RAN: how often
# a kernel printed "ran" in the program; it must print that again for each run
# in the report.
trace=$1 captured=$2 ran=$3
shift 3
if test -e "$captured"; then
    captured=$(sed -n -e 's/,//g' \
        -e 's/^ts-record: \([0-9]*\) operations* can.* be run again.*/\1/p' \
        -e 's/^ts-record: \([0-9]*\) operations* captured as hashes.*/\1/p' \
        "$captured" | awk '{ sum += $1 } END { print sum + 0 }')
fi
out=${trace%.sbt}.counts
DOUBLE_CUDA_TELL=1 build/ts-replay --execute --trust --timeout 50 --json \
    "$@" "$trace" >"$out" 2>"$out.said"
tail -n 5 "$out.said"
awk -v captured="$captured" -v ran="$ran" \
    -v said="$(grep -c '^ran ' "$out.said")" '
    /^  "declined": \{/ { within = 1 }
    /^  "not_captured": \{/ { within = 0 }
    within && /^    / { fates += $2 }
    /^  "(executed|substituted|not_run)"/ { fates += $2 }
    /^  "captured"/ { all = $2 + 0 }
    /^  "runs"/ { runs = $2 + 0 }
    END {
        print all " of " captured " captured, " fates " with a fate, ran " \
            said " times, " ran " in each of " runs " runs"
        exit !(all > 0 && all == captured && fates == captured &&
            said == ran * runs)
    }' "$out"
