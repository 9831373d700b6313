#!/bin/sh
# Whether two traces say the same: the digest of their replay, and what the
# queries of a file give, each a name and a line of SQL. Rows have no order
# here, and no numbers of dictionaries.
# usage: same.sh QUERIES A.sbt B.sbt
set -u
queries=$1
a=$2
b=$3
status=0
for trace in "$a" "$b"; do
    build/ts-replay --json "$trace" 2>"$trace.said" |
        grep '"digest"' >"$trace.digest" || echo none >"$trace.digest"
done
cmp "$a.digest" "$b.digest" || status=1
while read -r name && read -r sql; do
    for trace in "$a" "$b"; do
        build/ts-query --csv "$trace" "$sql" 2>"$trace.said" >"$trace.rows" ||
            { cat "$trace.said"; status=1; }
        sort "$trace.rows" >"$trace.sorted"
    done
    echo "$name: $(wc -l <"$a.sorted") lines"
    cmp -s "$a.sorted" "$b.sorted" && continue
    diff "$a.sorted" "$b.sorted" | head -20 | cut -c1-300
    status=1
done <"$queries"
exit $status
