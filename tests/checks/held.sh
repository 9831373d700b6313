# Held against others: figures as HTA, TraceLens, the reports of nsys stats and
# the views of a ROCm profile define them are computed from the sources of
# traces by scripts of their own; ts-analyze and the queries of
# docs/definitions.md say the same. The traces are those in the folder that
# TS_DATA names (../shared/data). checks/nsight.sh runs queries of nsys itself.
. tests/lib.sh
data=${TS_DATA:-../shared/data}
folder=build/held
rm -rf $folder
mkdir -p $folder/ranks
check_build "held: build" all

if ! test -d "$data/kineto"; then
    check "held: real traces" sh -c 'echo "no traces in $0"; exit 77' "$data"
    exit 0
fi

held() { # NAME, SCRIPT, SOURCE: has the figures that its source has
    check_later "held: $1 has the figures of others" sh -ec '
        out=$0/$1
        build/ts-import -o $out.sbt "$3"
        build/ts-analyze --mangled --json --rows 1000000 $out.sbt >$out.answers
        node $HERE/$2.mjs "$3" $out.answers $out.sbt' $folder "$@"
}

for packed in "$data"/kineto/*.json.gz; do
    name=$(basename "$packed" .json.gz)
    gzip -dc "$packed" >"$folder/$name.json" 2>/dev/null # bytes may follow
    held $name kineto $folder/$name.json
done
tar -xzf "$data/kineto/dlrm_8ranks_v100.tar.gz" -C $folder/ranks \
    --strip-components 1
for rank in 0 1 2 3 4 5 6 7; do
    held "dlrm-rank$rank" kineto $folder/ranks/worker${rank}_*.json
done
for database in "$data"/nsys/*.sqlite; do
    held "$(basename "$database" .sqlite)" tables "$database"
done
gzip -dc "$data/rocm/mytrace.rpd.gz" >$folder/mytrace.rpd
held mytrace tables $folder/mytrace.rpd
wait
