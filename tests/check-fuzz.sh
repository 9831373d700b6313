# Fuzzers with libFuzzer, ASan and UBSan: the corpus replays without a
# finding, then FUZZ_SECONDS (60) of fuzzing for the reader and a sixth of it
# for each of the others.
. tests/lib.sh
folder=build/fuzz
mkdir -p $folder
instrumented="-g1 -fsanitize=address,undefined -fno-sanitize-recover=all"
flags="-std=c11 -I. -O0 -DTRACESMITH_ZSTD -DTRACESMITH_SQLITE"
flags="$flags -DTRACESMITH_ZLIB -DTRACESMITH_YAJL $instrumented"
check_build "fuzz: library and modules" OUT=$folder CC=clang-14 LIB_CFLAGS=-O1 \
    HAVE_DW= CFLAGS="-O0 $instrumented -fsanitize=fuzzer-no-link" \
    $folder/libtracesmith.a $folder/libts-tools.a

fuzz() { # NAME
    local name corpus seconds
    name=$1
    corpus=tests/fuzz/corpus/${name#fuzz_}
    # The linker takes what a fuzzer needs.
    check "fuzz: build $name" clang-14 $flags -fsanitize=fuzzer \
        "tests/fuzz/$name.c" -Wl,--start-group $folder/libts-tools.a \
        $folder/libtracesmith.a -Wl,--end-group -pthread -lzstd -lsqlite3 \
        -lz -lyajl -lm -ldl -o "$folder/$name"
    check "fuzz: $name replays its corpus" sh -c '
        test -n "$(ls -A $1)" && $0 -error_exitcode=1 -runs=0 -timeout=50 $1' \
        $folder/$name $corpus
    seconds=${FUZZ_SECONDS:-60}
    test "$name" = fuzz_reader || seconds=$(((seconds + 5) / 6)) # 0: no limit
    mkdir -p $folder/$name.found
    check "fuzz: $name finds nothing" $folder/$name \
        -error_exitcode=1 -max_total_time=$seconds -timeout=50 \
        -rss_limit_mb=2048 -artifact_prefix=$folder/$name.found/ \
        -print_final_stats=1 $folder/$name.found $corpus
}
for source in tests/fuzz/fuzz_*.c; do
    fuzz "$(basename "$source" .c)" &
done
