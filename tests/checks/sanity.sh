# What must hold for the output of all tools, whatever the trace: no share
# above 100 %, parts that add up to the nanosecond, the same figure in all
# tools, no gain longer than the run, no text that contradicts its table,
# correct singular and plural. The traces are extreme cases made here, and
# those in the folder that TS_DATA names (../shared/data).
. tests/lib.sh
data=${TS_DATA:-../shared/data}
folder=build/sanity
rm -rf $folder
mkdir -p $folder
check_build "sanity: build" all
sane() { # NAME, traces
    name=$1
    shift
    check_later "sanity: $name" node $HERE/check.mjs build "$@"
}

check "sanity: traces are made" node $HERE/make.mjs $folder
for source in $folder/*.json; do
    build/ts-import -o "${source%.json}.sbt" "$source" >/dev/null
done
for trace in $folder/*.sbt; do
    name=$(basename "$trace" .sbt)
    sane "$name" "$trace"
done
sane "two ranks of different devices" $folder/ranks.0.sbt $folder/ranks.1.sbt
for trace in tests/cli/*.sbt; do # one of them lost records
    cp "$trace" "$folder/cli-${trace##*/}"
    sane "${trace##*/}" "$folder/cli-${trace##*/}"
done
wait
if ! test -d "$data/kineto"; then
    check "sanity: real traces" sh -c 'echo "no traces in $0"; exit 77' "$data"
    exit 0
fi
for source in "$data"/kineto/*.gz "$data"/rocm/*.gz "$data"/nsys/*.sqlite \
    "$data"/chakra/*.gz; do
    name=$(basename "$source" | sed 's/\..*//')
    build/ts-import -o "$folder/real-$name.sbt" "$source" >/dev/null 2>&1
done
for trace in $folder/real-*.sbt; do
    name=$(basename "$trace" .sbt)
    sane "${name#real-}" "$trace"
done
sane "eight ranks" $folder/real-dlrm*.sbt
wait
