# Records and reads a trace with other C libraries and processors: musl, 32-bit
# ARM and 64-bit RISC-V under qemu, each by tests/checks/portable/program.c, and
# reads their traces with the tools of this machine. Compilers for big-endian
# machines refuse the headers. Windows has the reader: with TS_FULL=1 it reads
# the golden traces under wine, as here. What is not installed is skipped.
. tests/lib.sh
folder=$PWD/build/portable
rm -rf "$folder"
mkdir -p "$folder/include"
check_build "portable: build" build/ts-info build/ts-view \
    build/libtracesmith.a
# xxHash is a header alone; the rest of this machine's are not theirs.
cp /usr/include/xxhash.h "$folder/include"
flags="-std=c11 -O0 -Wall -Wextra -Wconversion -Wshadow -Werror -isystem
    $folder/include -I. -static -pthread"

check "portable: a trace of this machine" sh -ec '
    mkdir "$0/ours"
    cc -std=c11 -DWITH_LIBRARY -I. tests/checks/portable/program.c \
        build/libtracesmith.a $(sed -n "s/.*-DTRACESMITH_ZSTD.*/-lzstd/p" \
        build/found) -pthread -o "$0/ours/program"
    cd "$0/ours" && ./program' "$folder"

# usage: records LABEL PACKAGES COMPILER "COMPILER OPTIONS" [EMULATOR]
records() {
    check "portable: $1, records and reads" sh -ec '
        folder=$0/$1
        for program in "$3" ${5:+"$5"}; do
            command -v "$program" >/dev/null ||
                { echo "$program is not here (Debian: $2)"; exit 77; }
        done
        mkdir "$folder"
        "$3" $6 $4 tests/checks/portable/program.c -o "$folder/program" \
            -Wl,--no-fatal-warnings
        (cd "$folder" && $5 ./program)
        build/ts-info --verify "$folder/trace.sbt"
        build/ts-view --stats "$folder/trace.sbt"
        test "$(build/ts-view --events "$folder/trace.sbt" |
            grep -c " zone  *work ")" = 3000
        $5 "$folder/program" "$0/ours/trace.sbt"' \
        "$folder" "$1" "$2" "$3" "$4" "${5:-}" "$flags"
}
# Headers of the kernel are behind those of musl.
records musl musl-tools musl-gcc "-idirafter /usr/include
    -idirafter /usr/include/$(gcc -print-multiarch 2>/dev/null)"
records "32-bit ARM" \
    "gcc-arm-linux-gnueabihf, libc6-dev-armhf-cross and qemu-user-static" \
    arm-linux-gnueabihf-gcc "" qemu-arm-static
records "64-bit RISC-V" \
    "gcc-riscv64-linux-gnu, libc6-dev-riscv64-cross and qemu-user-static" \
    riscv64-linux-gnu-gcc "" qemu-riscv64-static
for target in s390x powerpc64 mips; do
    check "portable: big-endian $target is refused" sh -ec '
        for header in tracesmith.h tracesmith_replay.h; do
            ! "$2" --target="$1-linux-gnu" -ffreestanding -std=c11 \
                -fsyntax-only -DTRACESMITH_IMPLEMENTATION \
                -DTRACESMITH_REPLAY_IMPLEMENTATION -xc $header 2>"$0/said"
            grep "error: .*this machine is not: TRACESMITH_DISABLE" "$0/said"
            test "$(grep -c error: "$0/said")" = 1
        done' "$folder" $target "$CLANG"
done

check "portable: Windows, the recorder is refused, the reader compiles" sh -ec '
    cc=x86_64-w64-mingw32-gcc
    command -v $cc >/dev/null ||
        { echo "$cc is not here (Debian: gcc-mingw-w64-x86-64)"; exit 77; }
    ! $cc $1 -fsyntax-only tests/checks/portable/program.c 2>"$0/said"
    grep "error: .*records on Linux only: define TRACESMITH_DISABLE" "$0/said"
    test "$(grep -c error: "$0/said")" = 1
    # A header of theirs that is included later uses what windows.h defines.
    printf "#include \"%s\"\n#include <%s>\n" tracesmith_replay.h \
        mmsystem.h | $cc $1 -D__USE_MINGW_ANSI_STDIO=1 -DTRACESMITH_DISABLE \
        -DTRACESMITH_REPLAY_IMPLEMENTATION -Wno-unused-function \
        -fsyntax-only -xc -
    $cc $1 -D__USE_MINGW_ANSI_STDIO=1 -DTRACESMITH_DISABLE \
        tests/checks/portable/program.c -o "$0/program.exe"' \
    "$folder" "$flags"
test "${TS_FULL:-}" = 1 || exit 0
check "portable: Windows reads traces as Linux does" sh -ec '
    command -v wine >/dev/null ||
        { echo "wine is not here (Debian: wine and wine64)"; exit 77; }
    export WINEDEBUG=-all WINEPREFIX="$0/wine"
    wine "$0/program.exe" "$0/ours/trace.sbt"
    head -c 5000 "$0/ours/trace.sbt" >"$0/cut.sbt"
    for trace in tests/golden/*.sbt "$0/cut.sbt" no.sbt; do
        here=0 there=0
        "$0/ours/program" $trace >"$0/here" 2>&1 || here=$?
        wine "$0/program.exe" $trace >"$0/there" 2>&1 || there=$?
        tr -d "\r" <"$0/there" | diff "$0/here" -
        test $here = $there
    done' "$folder"
