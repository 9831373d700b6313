# Every header, alone and included twice, and a program that uses all of the
# surface, with every compiler, language and level. The implementations too.
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
        case $implementation in *VDEV*) header=backends/ts_vdev.h ;; esac
        printf "%s\n" "#define $implementation" "#include \"$header\"" \
            >$out.c
        $compiler -c $out.c -o $out.o
    done'

for level in -O0 -O2; do
    for cc in gcc clang-14; do
        for std in c11 gnu17; do
            check "cxx: $cc $std $level" sh -c "$everything" \
                "$cc -std=$std $flags $level" $folder/$cc-$std$level \
                TRACESMITH_IMPLEMENTATION TRACESMITH_REPLAY_IMPLEMENTATION \
                TRACESMITH_VDEV_IMPLEMENTATION
        done
    done
    for cc in g++ clang++-14; do
        check "cxx: $cc c++17 $level" sh -c "$everything" \
            "$cc -std=c++17 -xc++ $flags $level" $folder/$cc$level \
            TRACESMITH_IMPLEMENTATION
    done
done

check "cxx: two units and an implementation in C++ link and run" sh -c '
    set -e
    out='$folder'/linked
    g++ -std=c++17 -xc++ '"$flags"' -c tests/surface/surface.c -o $out.1.o
    gcc -std=c11 '"$flags"' -Dsurface=surface_in_c \
        -Dsurface_session=surface_session_in_c \
        -c tests/surface/surface.c -o $out.2.o
    g++ -std=c++17 '"$flags"' tests/surface/main.cpp $out.1.o $out.2.o \
        -pthread -o $out
    cd '$folder' && ./linked'
check "cxx: each header says what it needs, tools/ts_cli.h too" sh -c '
    printf "#include \"tools/ts_cli.h\"\n#include \"tools/ts_cli.h\"\n" |
        gcc -std=c11 '"$flags"' -xc -fsyntax-only -'
