# Runs fuzzers with libFuzzer, ASan and UBSan: the corpus of each replays
# without a finding, then all of them fuzz for FUZZ_SECONDS (30) in total, a
# third of it the reader. `FUZZ_SECONDS=600 make fuzz` searches longer, with
# other random inputs each time; without it the inputs are the same in every
# run.
. tests/lib.sh
folder=build/fuzz
mkdir -p $folder
instrumented="-g1 -fsanitize=address,undefined -fno-sanitize-recover=all"
flags="-std=c11 -I. -O0 -DTRACESMITH_ZSTD -DTRACESMITH_SQLITE"
flags="$flags -DTRACESMITH_ZLIB -DTRACESMITH_YAJL -DTRACESMITH_ARCHIVE"
flags="$flags $instrumented"
# Compiled once, and no more of the tools than fuzzers go into.
rooms=
for room in analyze/figures cli common/rewrite common/symbolize cut import \
    mcp query studio; do
    rooms="$rooms $folder/tools/$room.a"
done
check_build "fuzz: library and modules" OUT=$folder CC=$CLANG \
    HAVE_DW= HAVE_EDIT= HAVE_IBERTY= HAVE_DEFLATE= HAVE_MICROHTTPD= \
    HAVE_BABELTRACE= HAVE_OTF2= \
    CFLAGS="-O0 $instrumented -fsanitize=fuzzer-no-link" \
    $folder/libtracesmith.a $rooms

seed=1
test -z "${FUZZ_SECONDS:-}" || seed=0 # another one each time
fuzzers=$(ls tests/fuzz/fuzz_*.c)
others=$(($(echo "$fuzzers" | wc -l) - 1))
fuzz() { # NAME
    local name corpus seconds library
    name=$1
    corpus=tests/fuzz/corpus/${name#fuzz_}
    # What its tools do is the library's, and not looked at.
    library=
    test "$name" != fuzz_mcp ||
        library="-Lbuild -ltracesmith-tools -Wl,--disable-new-dtags
            -Wl,-rpath,$PWD/build"
    # The linker takes what a fuzzer needs.
    check "fuzz: build $name" $CLANG $flags -fsanitize=fuzzer \
        "tests/fuzz/$name.c" -Wl,--start-group $rooms \
        $folder/libtracesmith.a -Wl,--end-group $library -pthread -lzstd \
        -lsqlite3 -lz -lyajl -larchive -lm -ldl -o "$folder/$name"
    check "fuzz: $name replays its corpus" sh -c '
        test -n "$(ls -A $1)" && $0 -error_exitcode=1 -runs=0 -timeout=50 $1' \
        $folder/$name $corpus
    seconds=${FUZZ_SECONDS:-30}
    if test "$name" = fuzz_reader; then
        seconds=$(((seconds + 2) / 3)) # 0: no limit
    else
        seconds=$(((seconds * 2 / 3 + others - 1) / others))
    fi
    mkdir -p $folder/$name.found
    check "fuzz: $name finds nothing" $folder/$name \
        -error_exitcode=1 -max_total_time=$seconds -timeout=50 -seed=$seed \
        -rss_limit_mb=2048 -artifact_prefix=$folder/$name.found/ \
        -print_final_stats=1 $folder/$name.found $corpus
}
for source in $fuzzers; do
    fuzz "$(basename "$source" .c)" &
done
