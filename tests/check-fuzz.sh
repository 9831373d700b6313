# Fuzzers with libFuzzer, ASan and UBSan: the corpus replays without a
# finding, then FUZZ_SECONDS (60) of fuzzing for the reader and a sixth of it
# for each of the others.
. tests/lib.sh
folder=build/fuzz
mkdir -p $folder
flags="-std=c11 -I. -O1 -g -DTRACESMITH_ZSTD -fno-sanitize-recover=all"
flags="$flags -DTRACESMITH_SQLITE -DTRACESMITH_ZLIB -DTRACESMITH_YAJL"
count=$(ls tests/fuzz/fuzz_*.c 2>/dev/null | wc -l)
if test "$count" = 0; then exit 0; fi
check "fuzz: library" clang-14 $flags \
    -fsanitize=fuzzer-no-link,address,undefined \
    -DTRACESMITH_IMPLEMENTATION -DTRACESMITH_REPLAY_IMPLEMENTATION \
    -c tools/ts_lib.c -o $folder/ts_lib.o
# What the tools are made of; the linker takes what a fuzzer needs.
check "fuzz: modules" sh -c '
    rm -f $0/modules.a
    for source in tools/cli/*.c tools/import/*.c tools/query/*.c \
        tools/copy/*.c tools/cut/*.c tools/symbolize/*.c; do
        object=$0/$(echo "$source" | tr / _).o
        clang-14 "$@" -c "$source" -o "$object" || exit 1
        ar qcs "$0/modules.a" "$object"
    done' $folder $flags -fsanitize=fuzzer-no-link,address,undefined
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    corpus=tests/fuzz/corpus/${name#fuzz_}
    check "fuzz: build $name" clang-14 $flags \
        -fsanitize=fuzzer,address,undefined $source $folder/modules.a \
        $folder/ts_lib.o -pthread -lzstd -lsqlite3 -lz -lyajl -lm -ldl \
        -o $folder/$name
    check "fuzz: $name replays its corpus" sh -c '
        test -n "$(ls -A $1)" && $0 -runs=0 -timeout=10 $1' \
        $folder/$name $corpus
    seconds=${FUZZ_SECONDS:-60}
    test "$name" = fuzz_reader || seconds=$((seconds / 6))
    mkdir -p $folder/$name.found
    check "fuzz: $name finds nothing" $folder/$name \
        -max_total_time=$seconds -timeout=10 \
        -rss_limit_mb=2048 -artifact_prefix=$folder/$name.found/ \
        -print_final_stats=1 $folder/$name.found $corpus
done
