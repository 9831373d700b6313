# Queries written for the database of Nsight Systems give the same rows on that
# database and on its import: on a database with rows of every table, made
# here, and on those in the folder that TS_DATA names (../shared/data).
. tests/lib.sh
data=${TS_DATA:-../shared/data}
folder=build/nsight
rm -rf $folder
mkdir -p $folder
check_build "nsight: build" all
check "nsight: a database with every table" sh -c '
    sqlite3 "$0" <$HERE/nsight.sql' $folder/made.sqlite
if test -d "$data/nsys"; then
    cp "$data"/nsys/*.sqlite $folder
else
    check "nsight: real databases" sh -c 'echo "no traces in $0"; exit 77' \
        "$data"
fi

# nsight/queries.txt has a name, then a query, and so on, as in the reports of
# Nsight Systems: sums by name, traces, calls with their kernels, ranges. As
# there, names of calls lose "_v7000". Times are since its start there, since
# the first event here, so that what begins is compared by how long after the
# first.
for database in $folder/*.sqlite; do
    name=$(basename "$database" .sqlite)
    check "nsight: $name is imported" build/ts-import -o "$folder/$name.sbt" \
        "$database"
    while read -r query && read -r sql; do
        check "nsight: $name, $query" sh -c '
            sqlite3 -csv -header "$0" "$2" >"$0.csv" &&
                node $HERE/bars.mjs "$0.csv" | sort >"$0.want" &&
                build/ts-query --csv "$1" "$2" >"$0.csv" &&
                node $HERE/bars.mjs "$0.csv" | sort >"$0.got" &&
                test -s "$0.want" && diff "$0.want" "$0.got" | head -20 &&
                cmp -s "$0.want" "$0.got"' "$database" "$folder/$name.sbt" \
            "$sql"
    done <$HERE/queries.txt
done
