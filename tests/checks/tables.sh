# What ts-export writes as Parquet and CSV is what ts-query says, of each table:
# DuckDB reads the files, of the golden traces, of one that is hard to keep, and
# of a real one from the folder that TS_DATA names (../shared/data). DuckDB is
# fetched into build/ from npm's registry, never kept with us.
. tests/lib.sh
folder=build/tables
data=${TS_DATA:-../shared/data}
package=@duckdb/node-api@1.5.6-r.1
rm -rf $folder
mkdir -p $folder build/duckdb
check_build "tables: build" build/ts-export build/ts-query build/ts-import \
    build/tests/checks/tables/hostile build/tests/checks/perfetto/everything

lacks=
command -v node >/dev/null && command -v npm >/dev/null || lacks="node and npm"
test -n "$lacks" ||
    (cd build/duckdb && timeout 120 npm install --no-save --no-audit \
        --no-fund --ignore-scripts --silent --prefix . "$package") \
        >$folder/npm.log 2>&1 ||
    lacks="$package, which npm cannot install"

# usage: tables NAME, the trace is $folder/NAME.sbt
tables() {
    check "tables: $1 as Parquet" sh -c '
        test -z "$2" || { echo "this needs $2"; exit 77; }
        build/ts-export "$0/$1.sbt" -o "$0/$1" --format parquet &&
            node $HERE/compare.mjs build/duckdb build/ts-query "$0/$1.sbt" \
                "$0/$1"' $folder "$1" "$lacks"
    rm -rf "${folder:?}/$1"
}

check "tables: the traces are written" sh -c '
    build/tests/checks/tables/hostile "$0/hostile.sbt" &&
        build/tests/checks/perfetto/everything "$0/everything.sbt" &&
        cp tests/golden/counter.sbt "$0/golden.sbt"' $folder
for name in hostile everything golden; do
    tables $name
done
if test -d "$data/kineto"; then
    check "tables: a real trace is imported" build/ts-import \
        -o $folder/real.sbt "$data/kineto/simple_add.json.gz"
    tables real
fi

check "tables: CSV is that of ts-query" sh -c '
    build/ts-export "$0/everything.sbt" -o "$0/csv/" --format csv || exit
    for table in zone zone_arg counter message gpu_op kernel name loss; do
        build/ts-query --csv "$0/everything.sbt" "SELECT * FROM $table" |
            cmp - "$0/csv/$table.csv" || exit
    done' $folder
