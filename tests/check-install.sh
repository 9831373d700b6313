# What `make install` puts into an empty folder works from there, and `make
# uninstall` leaves no file behind.
. tests/lib.sh
check "install: and a program that uses it" sh -c '
    set -e
    root=$(mktemp -d)
    trap "rm -rf $root" EXIT
    make -s install DESTDIR=$root PREFIX=/usr
    for tool in tools/ts-*.c; do
        $root/usr/bin/$(basename $tool .c) --version
        test -f $root/usr/share/man/man1/$(basename $tool .c).1
    done
    cat >$root/program.c <<END
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
    cd $root
    build="cc -std=c11 -Iusr/include -Iusr/include/tracesmith program.c"
    zstd=$(nm usr/lib/libtracesmith.a | sed -n "/U ZSTD_/{s/.*/-lzstd/p;q}")
    $build usr/lib/libtracesmith.a $zstd -pthread -lm -o program
    ./program
    $build -Lusr/lib -ltracesmith -pthread -o program
    LD_LIBRARY_PATH=usr/lib ./program
    cd "$OLDPWD"
    make -s uninstall DESTDIR=$root PREFIX=/usr
    test -z "$(find $root/usr -type f)"'
