# ts-studio: the committed page equals the one made from its sources; the
# WebAssembly module and the server give the same answers; and in a real
# browser (Debian's chromium) the page opens, explains, simulates, makes no
# request, and runs nothing that a trace contains. Pictures of it are left in
# build/studio/pictures.
. tests/lib.sh
folder=build/studio
mkdir -p $folder
check_build "studio: build" build/ts-studio build/ts-query build/ts-import \
    build/ts-analyze build/ts-replay build/ts-diff build/ts-cut \
    build/ts-export build/ts-record build/libtracesmith-inject.so \
    build/examples/pipeline

check "studio: the committed page is what its sources make" sh -c '
    tools/studio/build.sh $0/studio.html || exit
    cmp $0/studio.html tools/studio/page/studio.html && exit
    echo "run tools/studio/build.sh, and commit the page"
    exit 1' $folder
check "studio: the page is at most 400 KB, compressed" sh -c '
    test "$(gzip -9c tools/studio/page/studio.html | wc -c)" -le 400000'

check "studio: the page names the owners of the code in it" sh -ec '
    grep "^ *Copyright (c)" -i THIRD-PARTY >$0.owners
    test "$(wc -l <$0.owners)" = 5
    grep -c -F -x -f $0.owners tools/studio/page/studio.html | grep -x 5
    sed "/<!--/,/-->/!d" tools/studio/page/studio.html |
        grep "^Permission is hereby granted, free of charge"' $folder/page
check "studio: causes of idle time are in the words of ts-analyze" sh -c '
    sed -n "/texts.TS_IDLE_LIMIT/,/};/s/.*\"\(.*\)\".*/\1/p" \
        tools/analyze/topics/idle.c >$0.analyze
    sed -n "/causeWords:/,/};/s/.*: .\(.*\).,$/\1/p" \
        tools/studio/web/src/idle.ts >$0.page
    test "$(wc -l <$0.analyze)" = 9 && diff $0.analyze $0.page' $folder/causes

# A trace of a real program, if there is one here, else one of our own.
trace=$folder/real.sbt
real=${TS_DATA:-../shared/data}/kineto/h100_owlv2.json.gz
if test -e "$real"; then
    check "studio: a trace of a real program" \
        build/ts-import "$real" -o $trace
else
    cp tests/cli/replay-two.sbt $trace
fi

serves=$(printf '#include <microhttpd.h>' | ${CC:-cc} -E -xc - 2>/dev/null |
    grep -c MHD_start_daemon)
esbuild=$folder/web/node_modules/.bin/esbuild
check "studio: the module and the server answer with the same bytes" sh -ec '
    test "$1" != 0 || { echo "this build has no server"; exit 77; }
    test -x $2 && test -e $0/studio.wasm ||
        { echo "the page was not made anew"; exit 77; }
    (cd $0/web
    ./node_modules/.bin/esbuild src/module.ts --bundle --format=esm \
        --platform=node --outfile=../module.mjs --log-level=warning
    ./node_modules/.bin/esbuild src/wire.ts --format=esm \
        --outfile=../wire.mjs --log-level=warning)
    node $HERE/compare.mjs $0/module.mjs $0/wire.mjs $0/studio.wasm \
        build/ts-studio tests/golden/*.sbt tests/cli/*.sbt $0/real.sbt' \
    $folder "$serves" $esbuild

check "studio: counters have the figures of ts-query and ts-analyze" sh -ec '
    test -e $0/module.mjs && test -e $0/studio.wasm ||
        { echo "the page was not made anew"; exit 77; }
    node $HERE/counters.mjs $0/module.mjs $0/wire.mjs $0/studio.wasm build \
        $0/real.sbt tests/cli/*.sbt' $folder

# The same program in three quarters of the time, to compare with.
check "studio: a second trace" sh -c '
    build/ts-replay --mode model --what-if "scale .=3/4" -o $0/second.sbt \
        $0/real.sbt >/dev/null' $folder
check "studio: the server answers its page only, and within limits" sh -c '
    test "$1" != 0 || { echo "this build has no server"; exit 77; }
    rm -f $0/real.sbt.notes.json
    node $HERE/endpoints.mjs build/ts-studio $0/real.sbt $0/second.sbt \
        $0/alone' $folder "$serves"

# Packages of the check: a driver of the browser, and axe.
lacks=
command -v chromium >/dev/null || lacks=chromium
mkdir -p $folder/check
if test -z "$lacks" &&
    ! cmp -s "$HERE/package-lock.json" $folder/check/node_modules/.lock; then
    cp "$HERE"/package*.json $folder/check
    (cd $folder/check &&
        npm ci --no-audit --no-fund --ignore-scripts --silent &&
        cp package-lock.json node_modules/.lock) >$folder/npm.log 2>&1 ||
        lacks="the packages of $HERE, which npm cannot install"
fi
if test -n "$lacks"; then
    check "studio: in a browser" sh -c 'echo "needs $0"; exit 77' "$lacks"
    exit 0
fi
check "studio: pictures are as they were" sh -ec '
    for trace in view waits; do
        build/ts-studio -o $0/$trace.html tests/cli/$trace.sbt 2>/dev/null
    done
    node $HERE/pictures.mjs $0' $folder
check "studio: in a browser" sh -ec '
    node $HERE/hostile.mjs >$0/hostile.json
    build/ts-import --format kineto $0/hostile.json -o $0/hostile.sbt >/dev/null
    build/ts-studio -o $0/page.html $0/real.sbt
    build/ts-studio --hosted -o $0/hosted.html
    build/ts-studio --no-report -o $0/names.html tests/golden/kernel.sbt
    build/ts-import docs/examples/job.tar.gz -o $0/job/ >/dev/null
    build/ts-studio -o $0/hostile.html $0/hostile.sbt
    sentence=$(build/ts-analyze --only idle --json $0/real.sbt |
        node -e "console.log(JSON.parse(require(\"fs\").readFileSync(0))
            .answers.idle.answer)")
    address=- live=- job=- capturing=- mangled=- started=
    trap "kill \$started 2>/dev/null || :" EXIT
    if test "$1" != 0; then
        rm -rf $0/names $0/address $0/live $0/ranks $0/waits $0/waiting.sbt* \
            $0/live.sbt $0/real.sbt.notes.json
        build/ts-studio --no-browser $0/real.sbt $0/second.sbt >$0/address &
        started=$!
        build/examples/pipeline -o $0/live.sbt --frames 1000000 >/dev/null &
        recorder=$!
        started="$started $recorder"
        while ! test -s $0/live.sbt && kill -0 $recorder; do sleep 0.1; done
        build/ts-studio --no-browser --no-report $0/live.sbt >$0/live &
        started="$started $!"
        build/ts-studio --no-browser --no-report $0/job >$0/ranks &
        started="$started $!"
        cc -o $0/client tests/checks/capture/client.c -ldl -pthread
        build/ts-record -q --capture all --capture-on SIGUSR1 \
            -o $0/waiting.sbt $0/client steps 100000 >/dev/null &
        started="$started $!"
        while ! ls $0/waiting.sbt.*/*.sbt >$0/waits 2>/dev/null; do
            kill -0 $! && sleep 0.1
        done
        build/ts-studio --no-browser --no-report $0/waiting.sbt >$0/waits &
        started="$started $!"
        build/ts-studio --no-browser --no-report tests/golden/kernel.sbt \
            >$0/names &
        started="$started $!"
        while ! test -s $0/names || ! test -s $0/waits ||
            ! test -s $0/address || ! test -s $0/live ||
            ! test -s $0/ranks; do
            kill -0 $started && sleep 0.1
        done
        address=$(cat $0/address) live=$(cat $0/live) job=$(cat $0/ranks)
        capturing=$(cat $0/waits) mangled=$(cat $0/names)
    fi
    node $HERE/browser.mjs $0/page.html $0/hostile.html "$address" \
        "$sentence" $0/pictures "$live" "${recorder:-}" \
        "$job" "$capturing" "$mangled"' $folder "$serves"
