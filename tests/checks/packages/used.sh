# What an installed TraceSmith does: read by scripts in bare systems.
cd "$(mktemp -d)"
tool() {
    echo "$ $*"
    "$@" >out 2>&1 || { cat out; exit 1; }
    if grep 'built without\|this build has no' out; then exit 1; fi
}
for name in /usr/bin/ts-*; do
    tool "$name" --version
    if ldd "$name" | grep 'not found'; then exit 1; fi
done
tool ts-record -o run.sbt -- true
tool ts-devices
tool ts-import -o job/ /root/tracesmith/docs/examples/job.tar.gz
tool ts-analyze job/rank0.sbt job/rank1.sbt
tool ts-query job/rank0.sbt 'SELECT count(*) FROM kernel'
tool ts-studio -o page.html job/rank0.sbt
tool tracesmith --help
