# Rows of the benchmarks as a table. Fields: key, what, figure, unit, limit,
# yardstick, rule, budget; a line that starts with # is a heading.
function number(x) {
    if (x ~ /nan/) return "-"
    x += 0
    if (x >= 1000) return sprintf("%.0f", x)
    if (x >= 100 || x == int(x)) return sprintf("%.4g", x)
    return sprintf("%.3g", x)
}

function verdict(figure, limit, rule, budget) {
    if (figure ~ /nan/) return "failed"
    if (rule == "-") return ""
    if (rule == "ratio<=") return figure / limit <= budget ? "ok" : "OVER"
    if (rule == "<=") return figure + 0 <= budget + 0 ? "ok" : "OVER"
    return figure + 0 >= budget + 0 ? "ok" : "OVER"
}

# Whether a row says more about the machine than about the program.
function hangs(unit, limit) {
    return limit + 0 <= 0 && unit ~ /^(ns|us|ms|s|.*\/s|ns\/op)$/
}

function line(what, figure, unit, limit, yardstick, ratio, budget, word, s) {
    s = sprintf("%-*s %8s %-11s %8s %-29s %6s  %-9s %s", \
        what ~ /^\n/ ? 41 : 40, what, figure, unit, limit, yardstick, \
        ratio, budget, word)
    sub(/ +$/, "", s)
    print s
}

BEGIN {
    FS = "\t"
    print date ", " cpu " (" cores " cores), " compiler ", " kernel \
        ", load " load (quick ? ", quick" : "")
}
/^#/ {
    line("\n" toupper(substr($0, 3)), "figure", "", "limit", "", "ratio", \
        "budget", "")
    next
}
{
    word = verdict($3, $5, $7, $8)
    count[word]++
    limit = $5 > 0 ? number($5) : ""
    ratio = $5 > 0 && $3 !~ /nan/ ? $3 / $5 : ""
    if (ratio != "") ratio = sprintf(ratio < 100 ? "%.2f" : "%.0f", ratio)
    budget = $7 == "-" ? "" : $7 == "ratio<=" ? "<= " number($8) " x" \
        : $7 " " number($8)
    line($2, number($3), $4 (hangs($4, $5) ? " *" : ""), limit, \
        $6 == "-" ? "" : $6, ratio, budget, word)
}
END {
    printf "\n%d within budget, %d over, %d failed\n", count["ok"], \
        count["OVER"], count["failed"]
    print "* hangs on the machine: compare it with runs on the same kind only"
}
