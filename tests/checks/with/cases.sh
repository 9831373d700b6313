#!/bin/sh
# ts-record --with, and ts-import of reports, with the doubles of doubles.js.
#   tests/checks/with/cases.sh FOLDER WHICH
set -eu
bin=$1/bin
here=$1/$2
PATH=$bin:$PATH
rm -rf "$here"
mkdir -p "$here/tmp"
export TMPDIR=$here/tmp
trace=$here/run.sbt
said=$here/said

# Expects an exit status of a command, whose messages go to $said.
expect() { # STATUS COMMAND...
    want=$1
    shift
    status=0
    "$@" >"$here/out" 2>"$said" </dev/null || status=$?
    test $status = "$want" || {
        echo "$*: exit status $status, expected $want"
        cat "$here/out" "$said"
        exit 1
    }
}
record() { # STATUS OPTION... PROGRAM...
    want=$1
    shift
    expect "$want" build/ts-record -o "$trace" --with "$@"
}
says() { # TEXT, in parts
    text=$(printf %s "$@")
    grep -qF -e "$text" "$said" || {
        echo "not said: $text"
        cat "$said"
        exit 1
    }
}
# Nothing but these is left beside the trace and in the temporary folder.
left() {
    found=$(cd "$here" && ls -A | grep -vx -e out -e said -e tmp | tr '\n' ' ')
    test "$found" = "$1" && test -z "$(ls -A "$here/tmp")" || {
        echo "left: $found, $(ls -A "$here/tmp"); expected: $1"
        cat "$said"
        exit 1
    }
}
rows() { # SQL RESULT
    got=$(build/ts-query --csv "$trace" "$1" 2>&1 | tail -n +2)
    test "$got" = "$2" || {
        echo "$1: $got, expected: $2"
        exit 1
    }
}

case $2 in
nsys)
    record 7 nsys sh -c 'echo "$1"; exit 7' sh 'a  b'
    test "$(cat "$here/out")" = 'a  b'
    says "ts-record: $trace: 4 events of nsys"
    left 'run.sbt '
    rows 'SELECT name, duration_ns FROM kernel' 'void saxpy<float>(int),60
void saxpy<float>(int),20'
    build/ts-info --json "$trace" | grep -q '"nsys.report"'
    ;;
rocprofv3)
    record 0 rocprofv3 true
    says '2 events of rocprofv3'
    left 'run.sbt '
    rows 'SELECT name FROM kernel' gemm
    record 0 rocprofv3 --with-args '--sys-trace --output-format json' true
    says 'events of rocprofv3'
    build/ts-info "$trace" | grep -q 'rocprofv3-json'
    ;;
xctrace) # the template decides the tables
    record 1 xctrace --with-args "--template 'No Such'" true
    says 'no template No Such'
    left ''
    record 0 xctrace --keep true
    says "ts-record: $trace: 2 events of xctrace"
    grep -q 'Metal System Trace' "$trace.xctrace/run.trace/template"
    grep -c '<schema' "$trace.xctrace/tables.xml" | grep -qx 1
    xmllint --noout "$trace.xctrace/tables.xml"
    rm -r "$trace.xctrace"
    rows 'SELECT name, start_ns, duration_ns FROM kernel' \
        'Compute,0,250000
Compute,796500,250000'
    record 0 xctrace --with-args "--template 'Time Profiler'" true
    left 'run.sbt '
    rows 'SELECT count(*) FROM sample' 1
    DOUBLE=trap record 125 xctrace true
    says 'xctrace export ended with exit status 133; '
    says 'tables that it had not written are missing'
    ;;
mctracer) # and it puts the working folder in front of names
    status=0
    (cd "$here" && "$OLDPWD/build/ts-record" --with mctracer -- \
        sh -c 'exit 5' >out 2>said) || status=$?
    test $status = 5
    says 'ts-record: trace.sbt: 2 events of mctracer'
    left 'trace.sbt '
    ;;
msprof) # which splits the words of the program
    record 3 msprof sh -c 'printf "%s|" "$@"; exit 3' sh "it's" 'a  b' '' '$x'
    test "$(cat "$here/out")" = "it's|a  b||\$x|"
    says 'events of msprof'
    left 'run.sbt '
    rm "$trace"
    # No byte can be written, as on a full disk.
    (trap '' XFSZ && ulimit -f 0 && build/ts-record -o "$trace" \
        --with msprof true 2>&1) | cat >"$said"
    says 'run.sh: File too large'
    left ''
    ;;
several) # processes: one trace of all
    DOUBLE=several record 0 rocprofv3 true
    says '4 events of rocprofv3, from 2 traces'
    left 'run.sbt '
    rows 'SELECT count(*) FROM kernel' 2
    rows 'SELECT count(DISTINCT process) FROM thread' 2
    ;;
words) # of --with-args, quoted as in a shell
    record 0 nsys --with-args " --trace=cuda '--sample'=none --delay=\"1\" " \
        true
    record 1 nsys --with-args '--no-such' true
    says "unrecognized option '--no-such'"
    says 'nsys ended with exit status 1 and wrote no trace'
    says '; --with-args must not say where nsys writes'
    left 'run.sbt '
    expect 2 build/ts-record -o "$trace" --with nsys --with-args "'open" true
    says "--with-args: a quote has no end"
    ;;
status) # of the program, also of tools that have another
    for tool in nsys rocprofv3 mctracer msprof; do
        record 9 $tool sh -c 'exit 9'
        record 143 $tool sh -c 'kill -TERM $$'
        test -e "$trace"
        record 127 $tool no-such-program
        says 'no-such-program: No such file'
        rm -f "$trace"
    done
    # Where the program did not run: the tool's, or none.
    DOUBLE=fail record 1 nsys true
    DOUBLE=fail record 125 msprof true
    left ''
    ;;
signal) # to ts-record alone, and to all
    for tool in nsys mctracer; do
        build/ts-record -q -o "$trace" --with $tool -- \
            sh -c 'trap "echo got it; exit 4" TERM
                echo ready >"$1"; while :; do sleep 0.1; done' sh \
            "$here/ready" >"$here/out" 2>"$said" &
        until test -s "$here/ready"; do sleep 0.05; done
        kill -TERM $!
        status=0
        wait $! || status=$?
        test $status = 4
        grep -qx 'got it' "$here/out"
        rm "$here/ready"
        left 'run.sbt '
        rm "$trace"
    done
    status=0
    setsid build/ts-record -q -o "$trace" --with nsys -- sh -c '
        trap "exit 4" INT
        kill -INT 0
        while :; do sleep 0.1; done' >"$here/out" 2>"$said" || status=$?
    test $status = 4
    left 'run.sbt '
    ;;
killed)
    DOUBLE=die record 137 nsys true
    says 'ts-record: nsys was ended by signal 9 (Killed)'
    says 'nsys ended by signal 9 and wrote no trace'
    left ''
    ;;
nothing)
    DOUBLE=nothing record 125 rocprofv3 true
    says 'rocprofv3 ended with exit status 0 and wrote no trace'
    left ''
    DOUBLE=nothing record 6 msprof sh -c 'exit 6'
    left ''
    ;;
absent)
    mkdir "$here/none"
    absent() { # TOOL, PRODUCT
        expect 125 env PATH="$here/none" "$PWD/build/ts-record" -o "$trace" \
            --with "$1" /bin/true
        says "is not in PATH; it is a part of $2"
    }
    absent nsys 'Nsight Systems'
    absent rocprofv3 'ROCm, in /opt/rocm/bin'
    absent xctrace Xcode
    absent mctracer 'MACA, in /opt/maca/bin'
    absent msprof 'CANN, in /usr/local/Ascend/ascend-toolkit/latest/bin'
    printf '#!/bin/sh\n' >"$here/none/nsys"
    expect 125 env PATH="$here/none" "$PWD/build/ts-record" -o "$trace" \
        --with nsys /bin/true
    says 'nsys: Permission denied'
    # One that cannot be executed hides none behind it.
    mkdir "$here/other"
    printf '#!/bin/sh\nexit 3\n' >"$here/other/prog"
    chmod 755 "$here/other/prog"
    echo text >"$here/none/prog"
    rm "$here/none/nsys"
    PATH=$here/none:$here/other:$PATH record 3 nsys prog
    rm -r "$trace" "$here/other"
    left 'none '
    ;;
cut) # what there is is imported, and what the tool wrote is kept
    DOUBLE=cut record 125 rocprofv3 --with-args '--hip-trace \
        --output-format json' true
    says 'the output contains everything before'
    says "what rocprofv3 wrote is in $trace.rocprofv3"
    left 'run.sbt run.sbt.rocprofv3 '
    test -s "$trace.rocprofv3/host/100_results.json"
    ;;
keep)
    record 0 nsys --keep true
    left 'run.sbt run.sbt.nsys '
    test -s "$trace.nsys/report.nsys-rep"
    says "what nsys wrote is in $trace.nsys"
    record 0 nsys --keep true # those of an earlier run stay
    test "$(ls -d "$here"/ts-nsys-* | wc -l)" = 1
    ;;
names) # that the tools would replace or refuse
    for name in 'a b%p%q{X}' "-it's"'$(exit)`"|&;<>' "$(printf 'l\nné')"; do
        mkdir -p "$here/$name"
        out=$here/$(printf %s "$name" | sed 's/%/%%/g')
        for tool in nsys mctracer msprof; do
            expect 0 build/ts-record -q -o "$out/%%-x $tool.sbt" \
                --with $tool -- true
            test -s "$here/$name/%-x $tool.sbt"
            rm -r "$here/$name"
            mkdir "$here/$name"
        done
        rmdir "$here/$name"
    done
    left ''
    ;;
usage)
    expect 2 build/ts-record --keep true
    says '--with-args and --keep require --with TOOL'
    expect 2 build/ts-record --with nsys --with-status x true
    says '--with-status cannot be combined with --with'
    expect 2 build/ts-record --with nsys --stacks true
    says '--with can be combined with -o, -q, --keep and --with-args only; ' \
        "the other options are those of TraceSmith's recorder"
    for options in '--with nosuch' '--with-args x' \
        '--with-status x --live' '--with nsys --collect x' \
        '--with nsys --no-merge' '--with nsys --capture all' \
        '--with nsys --live'; do
        expect 2 build/ts-record -o "$trace" $options true
    done
    expect 2 build/ts-record --with nosuch true
    says "--with: 'nosuch' is not a known tool; use nsys, rocprofv3, xctrace,"
    expect 2 build/ts-record --with nsys
    expect 125 build/ts-record -o "$here/no/run.sbt" --with nsys true
    says 'cannot create a temporary folder'
    echo text >"$trace"
    expect 125 build/ts-record -o "$trace" --with nsys true
    test "$(cat "$trace")" = text
    expect 125 build/ts-record --with-status "$here/no/status" true
    expect 3 build/ts-record --with-status "$here/status" sh -c 'exit 3'
    test "$(cat "$here/status")" = 3
    ;;
report) # of Nsight Systems, given to ts-import
    expect 0 nsys profile --output="$here/run" true
    expect 0 build/ts-import -o "$trace" "$here/run.nsys-rep"
    rows 'SELECT count(*) FROM kernel' 2
    gzip -c "$here/run.nsys-rep" >"$here/packed"
    expect 0 build/ts-import -o "$trace" "$here/packed"
    mkdir "$here/%p"
    cp "$here/run.nsys-rep" "$here/%p/-\$x.rep"
    (cd "$here/%p" && "$OLDPWD/build/ts-import" -o ../run.sbt ./-\$x.rep)
    # Interrupted, it leaves neither a folder nor nsys behind.
    for DOUBLE in hang stuck; do
        DOUBLE=$DOUBLE HANGS=$here/hangs build/ts-import -o "$here/none.sbt" \
            "$here/run.nsys-rep" &
        until test -s "$here/hangs"; do sleep 0.05; done
        kill -TERM $!
        status=0
        wait $! || status=$?
        test $status = 143
        test -z "$(ls -A "$here/tmp")"
        if kill -0 "$(cat "$here/hangs")" 2>/dev/null; then exit 1; fi
        rm "$here/hangs"
    done
    import() { # WHAT IS SAID, in parts
        expect 1 "$PWD/build/ts-import" -o "$here/none.sbt" "$report"
        says "$report: " "$@"
        test ! -e "$here/none.sbt" && test -z "$(ls -A "$here/tmp")"
    }
    report=$here/run.nsys-rep
    version=2025.5.2.266-255236693005v0
    where='; or export it where it was made, with nsys export --type sqlite, '
    DOUBLE=soft import "nsys export (Nsight Systems $version) made no " \
        "database of this report ($version), exit status 0: " \
        'Exportation error: Section Table Reference magic number mismatch.'
    for DOUBLE in broken cut; do
        DOUBLE=$DOUBLE import 'nsys export made a database without known tables'
    done
    TMPDIR=/no/folder import 'it cannot be exported by nsys: No such file'
    mkdir "$here/none"
    printf '#!/bin/sh\n' >"$here/none/nsys"
    PATH=$here/none:/bin
    chmod 644 "$here/none/nsys"
    import 'nsys export (Nsight Systems of an unknown version) ' \
        'cannot be run: Permission denied'
    rm "$here/none/nsys"
    import "it is a report of Nsight Systems $version, which its own nsys " \
        'reads, and there is none in PATH: install this version or a later ' \
        "one$where" 'and import the database'
    report=$here/odd
    printf 'NVIDIA Tegra Profiler Report \n' >"$report"
    import 'it is a report of Nsight Systems of an unknown version, which its'
    ;;
version) # a report of a later version than the nsys here
    NSYS_VERSION=2026.4.1.191-264138605071v0 nsys profile \
        --output="$here/run" true
    for DOUBLE in soft ''; do
        export DOUBLE
        expect 1 build/ts-import -o "$trace" "$here/run.nsys-rep"
        says 'it is a report of Nsight Systems 2026.4.1.191-264138605071v0, ' \
            'and the nsys in PATH is 2025.5.2.266-255236693005v0, which ' \
            'cannot read what a later version made: install that version'
    done
    left 'run.nsys-rep '
    NSYS_VERSION=2027.1.1.1-1v0 expect 0 build/ts-import -o "$trace" \
        "$here/run.nsys-rep"
    build/ts-info --json "$trace" >"$here/info"
    grep -q '"nsys.report".*2026.4.1.191' "$here/info"
    ;;
esac
