# Carries out the first commands of the README, word for word, on a bare
# machine; then the commands that the demo suggests next, and each tool on the
# trace of a job of two ranks.
apt-get install -y -qq make >/dev/null 2>&1
cd /root/tracesmith
make demo >demo.out 2>&1 || { cat demo.out; exit 1; }
cat demo.out
test -s build/trace.html
next=$(sed -n '/^Next/,$s/^    //p' demo.out)
test "$(echo "$next" | wc -l)" = 3
echo "$next" | while read -r command; do
    echo "$ $command"
    $command >next.out 2>&1 || { cat next.out; exit 1; }
done

PATH=$PWD/build:$PATH
cd "$(mktemp -d)"
tool() {
    echo "$ $*"
    "$@" >out 2>&1 || { cat out; exit 1; }
    ! grep 'built without\|this build has no' out
}
tool ts-import -o job/ /root/tracesmith/docs/examples/job.tar.gz
tool ts-info --verify job/rank0.sbt
tool ts-view --width 80 job/rank0.sbt
tool ts-analyze job/rank0.sbt job/rank1.sbt
tool ts-merge -o job.sbt job/rank0.sbt job/rank1.sbt
tool ts-cut -o part.sbt --from 1ms --to 3ms job.sbt
tool ts-replay job.sbt
tool ts-diff job/rank0.sbt job/rank1.sbt
tool ts-query job.sbt 'SELECT count(*) FROM kernel'
tool ts-export -o job.json.gz job.sbt
tool ts-symbolize job.sbt
tool ts-record -o run.sbt true
tool ts-devices
