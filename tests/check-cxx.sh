# Every header, alone and included twice, and a program that uses all of the
# surface, with every compiler, language and level: {gcc, clang} x {c11, gnu17,
# c++17} x {-O0, -O2}. The implementations too. At -O0 a compiler reads and
# warns, and makes no code: check-asan and check-tsan run what it makes.
# The optimiser reads c11 and c++17, as the dialect changes nothing for it.
. tests/lib.sh
folder=build/cxx
mkdir -p $folder
flags="-I. -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"

# usage: everything COMPILER OUT IMPLEMENTATIONS...
everything='
    set -e
    compiler=$0; out=$1; shift
    for header in tracesmith.h tracesmith_replay.h backends/*.h; do
        test -e "$header" || continue
        { printf "#include \"%s\"\n" $header $header
            echo "typedef int not_empty;"; } >$out.c
        $compiler -c $out.c -o $out.o
    done
    $compiler -c tests/surface/surface.c -o $out.o
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

# What strict users ask of their compilers, of every one that is here; those
# that do not know a warning or a language say so, and are not asked.
strict='
    strict="-Wold-style-cast -Wuseless-cast"
    case $0 in g++*) strict="$strict -Wzero-as-null-pointer-constant" ;; esac
    known() { echo "int x;" | $1 $2 -Werror -fsyntax-only - 2>/dev/null; }
    for language in $1; do
        flags="-I. -std=$language -x${language%%[0-9]*}"
        test $language != ${language#c++} || flags="-I. -std=$language -xc"
        known "$0" "$flags" || continue
        for warning in -Wall -Wextra -Wpedantic -Wconversion -Wshadow \
            -Wclobbered $(test $language = ${language#c++} || echo $strict); do
            known "$0" "$flags $warning" && flags="$flags $warning"
        done
        for level in -O0 -O2 "-O2 -DTRACESMITH_DISABLE"; do
            $0 $flags -Werror $level -c tests/surface/strict.c -o /dev/null ||
                { echo "$0 $flags $level"; exit 1; }
        done
    done'
for version in "" -11 -12 -13 -14 -15 -16 -17 -18 -19 -20; do
    for cc in gcc clang g++ clang++; do
        command -v $cc$version >/dev/null || continue
        languages="c11 c17 c2x c23"
        case $cc in *++) languages="c++17 c++20 c++23" ;; esac
        check "cxx: $cc$version, strict users" sh -c "$strict" $cc$version \
            "$languages"
    done
done
check "cxx: the README program is C++20 and has no warning" sh -c '
    awk "/^\`\`\`c\$/ { on = 1; next } /^\`\`\`/ { if (on) exit } on" \
        README.md >$0.cpp
    g++ -std=c++20 -I. -Wall -Wextra -Wpedantic -Wconversion -Werror \
        -c $0.cpp -o $0.o' $folder/readme
check "cxx: an implementation that comes too late has one clear error" sh -c '
    printf "#include <stdio.h>\n#define TRACESMITH_IMPLEMENTATION\n" >$0.c
    echo "#include \"tracesmith.h\"" >>$0.c
    ! gcc -I. -fsyntax-only $0.c 2>$0.said
    test "$(grep -c error: $0.said)" = 1 && grep "_GNU_SOURCE" $0.said' \
    $folder/late

check "cxx: two units and an implementation in C++ link and run" sh -c '
    set -e
    out='$folder'/linked
    g++ -std=c++17 -xc++ '"$flags"' -c tests/surface/surface.c -o $out.1.o
    gcc -std=c11 '"$flags"' -Dsurface=surface_in_c \
        -Dsurface_session=surface_session_in_c \
        -Dsurface_calls=surface_calls_in_c \
        -c tests/surface/surface.c -o $out.2.o
    g++ -std=c++17 '"$flags"' tests/surface/main.cpp $out.1.o $out.2.o \
        -pthread -o $out
    cd '$folder' && ./linked'
# A program of one file: the surface with the implementation beside it.
cat >$folder/static.c <<'END'
#include "tests/surface/surface.c"
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
check "cxx: each header says what it needs, tools/ts_cli.h too" sh -c '
    printf "#include \"tools/ts_cli.h\"\n#include \"tools/ts_cli.h\"\n" |
        gcc -std=c11 '"$flags"' -xc -fsyntax-only -'
