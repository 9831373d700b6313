# The tally of compare.mjs as a table; fails if statements are less often right
# than their confidence says.
BEGIN {
    least["exact"] = 100
    least["high"] = 99
    least["medium"] = 90
    print "| sort of statement | confidence | right | of | share |"
    print "| --- | --- | --- | --- | --- |"
}
{
    key = $1 "\t" $2
    if (!count[key]++) order[++keys] = key
    all[$2]++
    right[key] += $3 == "right"
    all_right[$2] += $3 == "right"
}
function row(sort, confidence, good, of) {
    printf "| %s | %s | %d | %d | %.1f %% |\n", sort, confidence, good, of,
        int(good * 1000 / of) / 10
}
END {
    for (i = 1; i <= keys; i++)
        for (k = i + 1; k <= keys; k++)
            if (order[k] < order[i]) {
                key = order[i]; order[i] = order[k]; order[k] = key
            }
    for (i = 1; i <= keys; i++) {
        split(order[i], part, "\t")
        row(part[1], part[2], right[order[i]], count[order[i]])
    }
    split("exact high medium low", names, " ")
    for (i = 1; i <= 4; i++)
        if (all[names[i]])
            row("**all**", names[i], all_right[names[i]], all[names[i]])
    for (name in least)
        if (all_right[name] * 100 < least[name] * all[name]) {
            print name " is right less often than it says" >"/dev/stderr"
            exit 1
        }
}
