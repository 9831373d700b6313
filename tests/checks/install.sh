# `make install` into an empty folder gives a working installation, for
# programs in C and C++ built in each way that README.md names, and `make
# uninstall` removes all of it.
. tests/lib.sh
folder=$PWD/build/install
root=$folder/"a root" # folders of packages have all kinds of names
rm -rf "$folder"
mkdir -p "$folder"
check "install: everything" sh -c '
    set -e
    make -s install DESTDIR="$0" PREFIX=/usr
    for tool in tools/tracesmith.c tools/ts-*.c; do
        "$0/usr/bin/$(basename $tool .c)" --version
        test -f "$0/usr/share/man/man1/$(basename $tool .c).1"
    done
    for file in LICENSE THIRD-PARTY; do
        cmp $file "$0/usr/share/doc/tracesmith/$file"
    done
    cmp docs/merge.md "$0/usr/share/doc/tracesmith/docs/merge.md"
    readelf -d "$0/usr/lib/libtracesmith.so" | grep "SONAME.*[.]so[.]0"' "$root"

cat >"$folder/program.c" <<'END'
#define TRACESMITH_VDEV_IMPLEMENTATION
#include "backends/ts_vdev.h"
#include "tracesmith_replay.h"
int main(void)
{
    const ts_session_desc desc = { .path = "trace.sbt" };
    if (ts_session_start(&desc) != TS_OK) return 1;
    TS_MARK("installed");
    if (ts_session_stop() != TS_OK) return 2;
    const ts_reader_desc what = { .path = "trace.sbt" };
    ts_reader *reader;
    if (ts_reader_open(&reader, &what) != TS_OK) return 3;
    const bool found = ts_reader_info(reader)->counts[TS_EVENT_MARK] == 1;
    ts_reader_close(reader);
    return found ? 0 : 4;
}
END
sed 's/VDEV_IMPLEMENTATION/VDEV_USED/
    s/const ts_session_desc desc = .*/ts_session_desc desc = {};\
    desc.path = "trace.sbt";/
    s/const ts_reader_desc what = .*/ts_reader_desc what = {};\
    what.path = desc.path;/' "$folder/program.c" >"$folder/program.cpp"

# The lines of README.md, as they stand there, for the program that is there.
prefix=$folder/prefix
awk '/^```c$/ && !done { on = done = 1; next } /^```/ { on = 0 }
    on && !/define TRACESMITH_IMPLEMENTATION/' README.md >"$folder/readme.c"
check "install: a prefix" make -s install DESTDIR=/ PREFIX="$prefix"
grep -E '^(cc|c\+\+) .*tracesmith' README.md >"$folder/lines"
while read -r line; do
    check "install: $line" sh -c '
        set -e
        mkdir -p "$0" && cd "$0"
        cp ../readme.c program.c
        cp ../readme.c program.cpp
        export PKG_CONFIG_PATH="$1/lib/pkgconfig" LD_LIBRARY_PATH="$1/lib"
        export CPATH="$1/include" LIBRARY_PATH="$1/lib"
        eval "$2"
        ./program
        "$1/bin/ts-info" --verify trace.sbt
        readelf -d program >needed
        case $2 in
        *statically) ! grep libtracesmith needed ;;
        *) grep "NEEDED.*libtracesmith[.]so[.]0[.]1" needed ;;
        esac' "$folder/line" "$prefix" "$line"
done <"$folder/lines"
check "install: README.md has lines for C, C++ and a static library" sh -c '
    test "$(wc -l <"$0")" = 3' "$folder/lines"
check "install: each header of a backend compiles by its path" sh -c '
    cd "$0/include" || exit 1
    for header in tracesmith/backends/*.h tracesmith/backends/*/*.h; do
        case $header in */libunwind.h) continue ;; esac
        echo "#include <$header>" |
            cc -std=c11 -D_GNU_SOURCE -I. -fsyntax-only -xc - || exit 1
    done
    cd "$1/backends" && find . -name "*.h" | sort >"$0.there"
    cd "$0/include/tracesmith/backends" && find . -name "*.h" | sort |
        cmp - "$0.there"' "$prefix" "$PWD"
check "install: pkg-config --static names what the library needs" sh -c '
    export PKG_CONFIG_PATH="$1/lib/pkgconfig"
    cc -std=c11 "$0/program.c" $(pkg-config --cflags --libs --static \
        tracesmith | sed s/-ltracesmith/-l:libtracesmith.a/) -o "$0/static" &&
        cd "$0" && ./static' "$folder" "$prefix"
# libtracesmith-tools: a program that does what the tools do, as C and as C++,
# linked in each way; it prints nothing that it was not asked for.
consumer=$PWD/$HERE/consumer.c
job=$PWD/docs/examples/job.tar.gz
for way in c c++ static; do
    check "install: the tools as a library, $way" sh -c '
        set -e
        mkdir -p "$0/tools/$1/out" && cd "$0/tools/$1"
        export PKG_CONFIG_PATH="$2/lib/pkgconfig" LD_LIBRARY_PATH="$2/lib"
        cp "$3" program.c
        cp "$3" program.cpp
        libs=$(pkg-config --cflags --libs tracesmith-tools)
        case $1 in
        c) cc -std=c11 -Wall -Wextra -Werror program.c $libs -o program ;;
        c++) c++ -std=c++20 -Wall -Wextra -Werror program.cpp $libs \
            -o program ;;
        static) cc -std=c11 program.c $(pkg-config --cflags --libs --static \
            tracesmith-tools | sed "s/-l\(tracesmith[a-z-]*\)/-l:lib\1.a/g") \
            -o program ;;
        esac
        ./program out "$4" >said 2>&1 || { cat said; exit 1; }
        test ! -s said
        readelf -d program >needed
        case $1 in
        static) ! grep libtracesmith needed ;;
        *) grep "NEEDED.*libtracesmith-tools[.]so[.]0[.]1" needed ;;
        esac' "$folder" "$way" "$prefix" "$consumer" "$job"
done
check "install: libtracesmith-tools has the names of its header, no others" \
    sh -c '
    set -e
    tr "\n" " " <"$0/include/tracesmith_tools.h" |
        grep -o "TS_TOOLS_API [^;{]*(" | grep -o "ts_[a-z_]*($" |
        tr -d "(" | sort >"$1.declared"
    test "$(wc -l <"$1.declared")" -gt 30
    nm -D --defined-only "$0/lib/libtracesmith-tools.so" |
        sed "s/.* //" | sort | diff "$1.declared" -
    nm -g --defined-only "$0/lib/libtracesmith-tools.a" |
        sed -n "s/.* [A-Z] //p" | sort | diff "$1.declared" -' \
    "$prefix" "$folder/names"
check "install: a program that records needs nothing of the tools" sh -c '
    readelf -d "$0/lib/libtracesmith.so" | grep NEEDED >"$1"
    ! grep -E "sqlite|libz[.]|yajl|libdw|deflate|edit" "$1"' \
    "$prefix" "$folder/needed"
cp "$consumer" "$folder/consumer.c"
cat >"$folder/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.13)
project(program C CXX)
find_package(tracesmith 0.1 REQUIRED)
foreach(way tracesmith static)
    foreach(source program.c program.cpp)
        string(REPLACE . _ name ${way}_${source})
        add_executable(${name} ${source})
        target_link_libraries(${name} tracesmith::${way})
    endforeach()
endforeach()
add_executable(consumer consumer.c)
target_link_libraries(consumer tracesmith::tools)
add_executable(consumer_static consumer.c)
target_link_libraries(consumer_static tracesmith::tools_static)
find_package(tracesmith 0.2 QUIET)
if(tracesmith_FOUND)
    message(FATAL_ERROR "0.1 is taken for 0.2")
endif()
END
check "install: CMake, in a tree that was moved" sh -c '
    set -e
    root=$0
    mkdir -p "$1"
    cd "$1"
    export LD_LIBRARY_PATH="$root/usr/lib"
    cmake -DCMAKE_PREFIX_PATH="$root/usr" ..
    cmake --build .
    for program in tracesmith_program_c tracesmith_program_cpp \
        static_program_c static_program_cpp; do
        ./$program
    done
    mkdir out
    for program in consumer consumer_static; do
        ./$program out "$2"
        rm out/*
    done
    for program in static_program_c consumer_static; do
        readelf -d $program | grep libtracesmith && exit 1
    done
    exit 0' "$root" "$folder/cmake" "$job"
check "install: shells complete commands and options" \
    $HERE/completions.bash "$root/usr"
check "install: nothing is left by make uninstall" sh -c '
    make -s uninstall DESTDIR="$0" PREFIX=/usr &&
        make -s uninstall DESTDIR=/ PREFIX="$1" || exit 1
    ! find "$0" "$1" ! -type d | grep . &&
        ! find "$0" "$1" -name "*tracesmith*" | grep .' "$root" "$prefix"
check "install: make says why it cannot" sh -c '
    ! make OUT="a b" 2>$0 && grep "OUT is a folder" $0 &&
        ! make CC=no-such-compiler build/found 2>$0 &&
        grep "no-such-compiler compiles nothing" $0 &&
        ! make HAVE_XXHASH= build/found 2>$0 &&
        grep "xxhash.h is missing" $0' "$folder/said"
check "install: a tree that cannot be written, and make dist in it" sh -c '
    set -e
    mkdir "$0"
    git ls-files | xargs ls -d 2>/dev/null | tar cT - | tar xC "$0"
    chmod -R a-w "$0"
    test "$(id -u)" != 0 || alone="setpriv --reuid=65534 --clear-groups"
    mkdir -m 777 "$0.out"
    cd "$0"
    export CCACHE_DISABLE=1 # its folder is not theirs
    $alone make -s OUT="$0.out" "$0.out/tools/cli/text.o"
    if $alone make dist 2>"$0.said"; then exit 1; fi
    grep "it needs git" "$0.said"' "$folder/tree"
chmod -R u+w "$folder"
