# Selections are the same in all tools: they have the same options, and a
# selection of real or made traces gives the same figures as the part that
# ts-cut writes.
. tests/lib.sh
data=${TS_DATA:-../shared/data}
folder=build/select
rm -rf $folder
mkdir -p $folder/parts
check_build "select: build" all
check "select: the options of all tools" \
    node $HERE/agree.mjs build --help
check "select: times of several files" node $HERE/agree.mjs build \
    $folder/parts --ranks
for trace in tests/cli/*.sbt; do
    case $trace in *circle* | *lossy*) continue ;; esac # damaged on purpose
    check_later "select: ${trace##*/}" node $HERE/agree.mjs build \
        $folder/parts "$trace"
done
wait
if ! test -d "$data/kineto"; then
    check "select: real traces" sh -c 'echo "no traces in $0"; exit 77' "$data"
    exit 0
fi
for source in kineto/alexnet.json.gz kineto/dlrm_8ranks_v100.tar.gz \
    kineto/v100_nccl_22k_ops.json.gz nsys/h100_2gpu_1s.sqlite \
    rocm/mytrace.rpd.gz; do
    name=$(basename "$source" | sed 's/\..*//')
    build/ts-import -o "$folder/$name.sbt" "$data/$source" >/dev/null 2>&1
done
rm -f $folder/dlrm*-rank[1-7].sbt
for trace in "$folder"/*.sbt; do
    check_later "select: ${trace##*/}" node $HERE/agree.mjs build \
        $folder/parts "$trace"
done
wait
