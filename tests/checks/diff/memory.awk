# Allocations and frees as ts-view --events lists them: the most that each pool
# held at once, when, and what it held in the end.
function value(key) {
    if (!match($0, " " key "=[^ ]*")) return ""
    return substr($0, RSTART + length(key) + 2, RLENGTH - length(key) - 2)
}
# What happens at one moment happens at once.
function settle(   p) {
    for (p in live)
        if (live[p] > peak[p]) {
            peak[p] = live[p]
            when[p] = now
        }
}
{
    time = $1
    sub(/\./, "", time)
    time += 0
    if (time != now) settle()
    now = time
    pool = value("pool")
    block = pool " " value("address")
    if ($0 ~ / alloc  address=/) {
        size[block] = value("size")
        live[pool] += size[block]
    } else if (block in size) {
        live[pool] -= size[block]
        delete size[block]
    }
}
END {
    settle()
    for (p in peak)
        printf "%s %.0f %.0f %.0f\n", p, peak[p], when[p], live[p]
}
