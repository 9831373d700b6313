# Compares figures with other tools: scripts compute figures as HTA, TraceLens,
# the reports of nsys stats and the views of a ROCm profile define them, from
# the sources of traces; ts-analyze and the queries of docs/definitions.md must
# give the same ones. The traces are those in the folder that TS_DATA names
# (../shared/data). nsight.sh runs queries of nsys itself.
. tests/lib.sh
data=${TS_DATA:-../shared/data}
folder=build/definitions
rm -rf $folder
mkdir -p $folder/ranks
check_build "definitions: build" all

if ! test -d "$data/kineto"; then
    check "definitions: real traces" sh -c 'echo "no traces in $0"; exit 77' \
        "$data"
    exit 0
fi

same_figures() { # NAME, SCRIPT, SOURCE: its figures are those of its source
    check_later "definitions: $1 has the figures of other tools" sh -ec '
        out=$0/$1
        build/ts-import -o $out.sbt "$3"
        build/ts-analyze --mangled --json --rows 1000000 $out.sbt >$out.answers
        node $HERE/$2.mjs "$3" $out.answers $out.sbt' $folder "$@"
}

for packed in "$data"/kineto/*.json.gz; do
    name=$(basename "$packed" .json.gz)
    gzip -dc "$packed" >"$folder/$name.json" 2>/dev/null # bytes may follow
    same_figures $name kineto $folder/$name.json
done
tar -xzf "$data/kineto/dlrm_8ranks_v100.tar.gz" -C $folder/ranks \
    --strip-components 1
for rank in 0 1 2 3 4 5 6 7; do
    same_figures "dlrm-rank$rank" kineto $folder/ranks/worker${rank}_*.json
done
for database in "$data"/nsys/*.sqlite; do
    same_figures "$(basename "$database" .sqlite)" tables "$database"
done
gzip -dc "$data/rocm/mytrace.rpd.gz" >$folder/mytrace.rpd
same_figures mytrace tables $folder/mytrace.rpd
wait
