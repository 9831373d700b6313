# Compares two files of results: see compare.sh. Fields are separated by tabs in
# lists of instructions; files of JSON are those that json.awk writes.
function text(name) {
    if (!match($0, "\"" name "\": (\"[^\"]*\"|[^,}]*)")) return ""
    s = substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4)
    gsub(/^"|"$/, "", s)
    return s == "null" ? "" : s
}

function keep(key, value, noise, machine, falls) {
    if (FILENAME == ARGV[1] && !second) {
        old[key] = value
        old_noise[key] = noise
        old_machine[key] = machine
        order[++count] = key
    } else {
        new[key] = value
        new_noise[key] = noise
        low_is_bad[key] = falls
        if (!(key in old)) added++
    }
}

# A row of JSON takes three lines: key; figure and limit; ratio and verdict.
function take_json() {
    if (/"cpu":/) cpu[FNR == NR ? 1 : 2] = text("cpu")
    if (/"key":/) key = text("key")
    if (/"figure":/) {
        figure = text("figure")
        unit = text("unit")
        spread = text("spread")
        machine = text("machine") == "true"
    }
    if (/"ratio":/ && figure != "") {
        ratio = text("ratio")
        keep(key, ratio == "" ? figure : ratio, spread == "" ? 0.1 : spread,
            machine, ratio == "" && unit ~ /\/s$/)
    }
}

FNR == 1 && NR > 1 { second = 1 }
/^[a-z]/ {
    counted = 1
    keep($1, $2, 0, 0, 0)
}
/^[ {]/ { take_json() }

function max(a, b) { return a > b ? a : b }

END {
    for (i = 1; i <= count; i++) {
        key = order[i]
        if (!(key in new)) {
            printf "missing %s\n", key
            bad++
            continue
        }
        if (old_machine[key] && cpu[1] != cpu[2]) {
            other++
            continue
        }
        compared++
        if (old[key] + 0 == new[key] + 0) continue
        change = old[key] + 0 == 0 ? 1 : new[key] / old[key] - 1
        least = max(0.03, 3 * max(old_noise[key], new_noise[key]))
        size = change < 0 ? -change : change
        if (size <= least) continue
        worse = low_is_bad[key] ? change < 0 : change > 0
        printf "%-7s %-28s %10.4g to %-10.4g %+6.1f %%, beyond %.1f %%\n", \
            worse ? "worse" : "better", key, old[key], new[key], \
            100 * change, 100 * least
        if (worse || counted) bad++
    }
    printf "%d rows compared, %d differ", compared, bad
    if (other) printf ", %d hang on the machine and were left out", other
    if (added) printf ", %d are new", added
    print ""
    if (counted && bad)
        print "If that is intended: UPDATE=1 tests/run.sh build"
    exit bad > 0 || !compared
}
