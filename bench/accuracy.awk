# Lays out the rows of bench/accuracy.sh and checks them against the budgets:
# exact 0 ns; model: makespan within 0.5 %, 1 % if several ranks are joined;
# p95 of start errors within 0.1 % of the makespan, 3 % where edges are
# inferred or ranks joined.
function us(ns) { return sprintf("%.1f", ns / 1000) }
function abs(x) { return x < 0 ? -x : x }
BEGIN {
    print "ops      GPU operations"
    print "exact    largest error of the exact replay, ns"
    print "model    error of the modelled makespan"
    print "p50-max  start errors of the model, us; p95 also as a share of the makespan"
    print "inferred share of all edges that no record says"
    print "as rec.  delays that no class explains: they stay as recorded; and their sum"
    print "         over the makespan (several may have waited at once)"
    print ""
    printf "%-44s %7s %11s %6s %9s %9s %9s %9s %8s %8s %13s  %s\n", "trace",
        "ops", "makespan", "exact", "model", "p50", "p95", "max", "p95",
        "inferred", "as rec.", "bound by"
}
$2 == "nothing" {
    printf "%-44s  no GPU operations to replay\n", $1
    next
}
$2 == "failed" { printf "%-44s  FAILED\n", $1; bad = 1; next }
{
    joint = $1 ~ / jointly$/
    guessed = $11 > 0
    p95 = $3 ? $8 / $3 : 0
    verdict = ""
    if ($4 != 0 || $5 != 0) verdict = verdict " EXACT"
    if (abs($6) > (joint ? 10000 : 5000)) verdict = verdict " MAKESPAN"
    if (p95 > (guessed || joint ? 0.03 : 0.001)) verdict = verdict " START"
    bound = ""
    most = -1
    for (i = 14; i <= NF; i++) {
        split($i, part, "=")
        if (part[2] + 0 > most) { most = part[2] + 0; bound = part[1] }
    }
    printf "%-44s %7d %8.1f ms %6d %+8.4f%% %9s %9s %9s %7.4f%% %7.1f%% %5d %6.2f%%  %s %.0f%%%s\n",
        $1, $2, $3 / 1e6, $4, $6 / 1e4, us($7), us($8), us($9), p95 * 100,
        $10 ? $11 * 100 / $10 : 0, $12, $3 ? $13 * 100 / $3 : 0, bound,
        $3 ? most * 100 / $3 : 0, verdict
    if (verdict != "") bad = 1
}
END { exit bad }
