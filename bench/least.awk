# The best of several runs of a benchmark: of each row the run with the least
# ratio, or the best figure; with the distance to the next as a ninth field,
# which is how noisy the row is. Rows are those of table.awk.
BEGIN { FS = OFS = "\t" }
{
    value = $5 > 0 ? $3 / $5 : $3 + 0
    if ($7 == ">=" || ($5 <= 0 && $4 ~ /\/s$/)) value = -value
    if ($3 ~ /nan/) value = 1e300
    if (!($1 in best)) {
        order[++count] = $1
        best[$1] = value
        line[$1] = $0
        next
    }
    if (value < best[$1]) {
        following[$1] = best[$1]
        best[$1] = value
        line[$1] = $0
    } else if (!($1 in following) || value < following[$1])
        following[$1] = value
}
function spread(key) {
    if (!(key in following) || !best[key]) return 0
    d = (following[key] - best[key]) / best[key]
    return d < 0 ? -d : d
}
END {
    for (i = 1; i <= count; i++) {
        noise = spread(order[i])
        if (noise > most) most = noise
        print line[order[i]], sprintf("%.4f", noise)
    }
    # Whether every row with a yardstick is known to 2 %: then no more runs.
    exit most > 0.02
}
