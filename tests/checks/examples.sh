# Every example runs and writes a trace without damage.
. tests/lib.sh
check_build "examples: build" all examples
for source in examples/*.c; do
    name=$(basename "$source" .c)
    check "examples: $name" sh -c '
        set -e
        bin=$PWD/build
        folder=$(mktemp -d)
        trap "rm -rf $folder" EXIT
        cd $folder
        if test $0 = read_trace; then
            $bin/examples/hello
            $bin/examples/read_trace hello.sbt
            exit
        fi
        $bin/examples/$0 </dev/null
        for trace in *.sbt*; do
            $bin/ts-info --verify $trace
        done' "$name"
done
