# Compiles every header, alone and included twice, and a program that uses the
# whole API, with every compiler, language and level: {gcc, clang} x {c11,
# gnu17, c++17} x {-O0, -O2}. Also the implementations. At -O0 the compiler
# only checks and generates no code, because checks/asan.sh and tsan.sh run
# such code. -O2 is used for c11 and c++17 only, as the dialect does not affect
# the optimiser.
. tests/lib.sh
folder=build/cxx
mkdir -p $folder
flags="-I. -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"

# usage: everything COMPILER OUT IMPLEMENTATIONS...
everything='
    set -e
    compiler=$0; out=$1; shift
    for header in tracesmith.h tracesmith_replay.h tools/tracesmith_tools.h \
        backends/*.h; do
        test -e "$header" || continue
        { printf "#include \"%s\"\n" $header $header
            echo "typedef int not_empty;"; } >$out.c
        $compiler -c $out.c -o $out.o
    done
    $compiler -c tests/checks/surface/surface.c -o $out.o
    for implementation; do
        header=tracesmith_replay.h
        case $implementation in
        *VDEV*) header=backends/ts_vdev.h ;;
        *CUPTI*) header=backends/ts_cupti.h ;;
        esac
        printf "%s\n" "#define $implementation" "#include \"$header\"" \
            >$out.c
        $compiler -c $out.c -o $out.o
    done'

for level in -O0 -O2; do
    only=$(test $level = -O2 || echo -fsyntax-only)
    for cc in gcc $CLANG; do
        for std in c11 gnu17; do
            test $std$level = gnu17-O2 && continue
            check "cxx: $cc $std $level" sh -c "$everything" \
                "$cc -std=$std $flags $level $only" $folder/$cc-$std$level \
                TRACESMITH_IMPLEMENTATION TRACESMITH_REPLAY_IMPLEMENTATION \
                TRACESMITH_VDEV_IMPLEMENTATION TRACESMITH_CUPTI_IMPLEMENTATION
        done
    done
    for cc in g++ $CLANGXX; do
        check "cxx: $cc c++17 $level" sh -c "$everything" \
            "$cc -std=c++17 -xc++ $flags $level $only" $folder/$cc$level \
            TRACESMITH_IMPLEMENTATION
    done
done

check "cxx: two units and an implementation in C++ link and run" sh -c '
    set -e
    out='$folder'/linked
    g++ -std=c++17 -xc++ '"$flags"' \
        -c tests/checks/surface/surface.c -o $out.1.o
    gcc -std=c11 '"$flags"' -Dsurface=surface_in_c \
        -Dsurface_session=surface_session_in_c \
        -Dsurface_calls=surface_calls_in_c \
        -c tests/checks/surface/surface.c -o $out.2.o
    g++ -std=c++17 '"$flags"' tests/checks/surface/main.cpp $out.1.o $out.2.o \
        -pthread -o $out
    cd '$folder' && ./linked'
# A program of one file: the surface with the implementation beside it.
cat >$folder/static.c <<'END'
#include "tests/checks/surface/surface.c"
#include <string.h>
int surface_step(int step)
{
    return step & 1;
}
int main(int argc, char **argv)
{
    ts_session_desc desc;
    ts_stats stats;
    memset(&desc, 0, sizeof desc);
    desc.path = argv[argc - 1];
    if (ts_session_start(&desc) != TS_OK) return 1;
    surface(5, 0.5, "text", &argc);
    if (ts_session_stop() != TS_OK) return 1;
    ts_session_stats(&stats);
    return stats.lost || stats.records + 1 <= LEAST;
}
END
for compiler in "gcc -std=c11" "$CLANG -std=c11" \
    "g++ -std=c++17 -xc++" "$CLANGXX -std=c++17 -xc++"; do
    for mode in LEAST=40 "LEAST=0 -DTRACESMITH_DISABLE"; do
        check "cxx: TRACESMITH_STATIC, ${compiler%% *}, $mode" sh -c '
            set -e
            '"$compiler $flags -O2 -D$mode"' -DTRACESMITH_STATIC \
                -DTRACESMITH_IMPLEMENTATION '$folder'/static.c -pthread -o $0
            $0 $0.sbt
            ! nm $0 | grep -E " [TDBRV] ts_(_|session)"' \
            "$folder/static-${compiler%% *}"
    done
done
# A part of a backend has functions that only others of its room call. What it
# lacks is the same for every compiler; what gcc says of the code of a part, it
# says where the whole backend is compiled.
check "cxx: each part of a backend, alone and twice" sh -c '
    echo "#include <libunwind.h>" | $0 -E -xc - >$1 2>&1 || skip=libunwind
    for header in backends/*/*.h; do
        case $header in */${skip:-none}.h) continue ;; esac
        { printf "#include \"%s\"\n" $header $header
            echo "typedef int not_empty;"; } >$1.c
        $0 -std=c11 -D_GNU_SOURCE '"$flags"' -Wno-unused -fsyntax-only \
            $1.c || exit 1
    done' $CLANG $folder/parts
check "cxx: each header says what it needs, tools/cli/cli.h too" sh -c '
    printf "#include \"tools/cli/cli.h\"\n#include \"tools/cli/cli.h\"\n" |
        gcc -std=c11 '"$flags"' -xc -fsyntax-only -'
