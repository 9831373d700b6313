# The test programs for aarch64, under qemu, importers included; and the
# digest of each real trace, which must be that of this machine. Libraries are
# Debian's, from its arm64 archive, unpacked into the build folder: no foreign
# architecture is added to the machine.
. tests/lib.sh
root=build/arm64/root
packages="libcmocka0 libcmocka-dev libyajl2 libyajl-dev libsqlite3-0
    libsqlite3-dev zlib1g zlib1g-dev libzstd1 libzstd-dev"
if ! test -e $root/usr/include/sqlite3.h; then
    check "arm64: libraries from Debian's archive" sh -c '
        set -e
        command -v apt-get >/dev/null || {
            echo "no apt-get to fetch libraries for arm64 with"
            exit 77
        }
        mkdir -p '$root'/apt/lists/partial '$root'/apt/archives/partial
        cd '$root'
        apt="apt-get -q -o APT::Architecture=arm64
            -o APT::Architectures=arm64 -o Dir::State::Lists=$PWD/apt/lists
            -o Dir::Cache=$PWD/apt -o Dir::State::status=/dev/null
            -o APT::Sandbox::User=root"
        $apt update
        $apt download "$@"
        for package in *.deb; do dpkg-deb -x $package .; done
        # What the linker finds beside the .so is in another place here.
        cp -P lib/aarch64-linux-gnu/* usr/lib/aarch64-linux-gnu/
        ln -sf libz.so.1 usr/lib/aarch64-linux-gnu/libz.so
        cp /usr/include/xxhash.h usr/include/' packages $packages
fi
test -e $root/usr/include/sqlite3.h || exit 0
# -fno-ivopts: gcc 12 folds two arrays into one index whose base wraps around
# below zero, which is right on the processor and stores nothing under qemu 7.2.
flags="-O0 -fno-ivopts -Werror -isystem $PWD/$root/usr/include"
check_build "arm64: build" OUT=build/arm64 CC=aarch64-linux-gnu-gcc \
    CXX=aarch64-linux-gnu-g++ AR=aarch64-linux-gnu-ar CFLAGS="$flags" \
    LDFLAGS="-L$PWD/$root/usr/lib/aarch64-linux-gnu" HAVE_ZSTD=yes \
    HAVE_ZLIB=yes HAVE_YAJL=yes HAVE_SQLITE=yes HAVE_XXHASH=yes \
    HAVE_EDIT= HAVE_DW= LIB_CFLAGS=-O1 \
    all tests examples
export QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
export QEMU_SET_ENV=LD_LIBRARY_PATH=$PWD/$root/usr/lib/aarch64-linux-gnu
# test_modules compiles programs, for this machine; what damage does to bytes is
# the same on both, and takes minutes under qemu.
WITHOUT="test_modules test_reader_damage" \
    check_programs arm64 build/arm64 qemu-aarch64-static

# Imported here and there, replayed here and there.
check_build "arm64: build for this machine" all
data=${TS_DATA:-../shared/data}
folder=build/arm64/traces
if ! test -d "$data/kineto"; then
    check "arm64: digests" sh -c 'echo "no traces in $0"; exit 77' "$data"
    exit 0
fi
rm -rf $folder
mkdir -p $folder
for packed in "$data"/kineto/* "$data"/nsys/* "$data"/rocm/* \
    "$data"/chakra/*; do
    name=$(basename "$packed")
    check "arm64: $name, the same trace and the same digest" sh -ec '
        arm="qemu-aarch64-static build/arm64"
        mkdir -p "$1/here" "$1/there"
        build/ts-import -o "$1/here/" "$0" >/dev/null
        $arm/ts-import -o "$1/there/" "$0" >/dev/null
        diff -r "$1/here" "$1/there"
        wanted=$(build/ts-replay --digest "$1"/here/*.sbt)
        test "$wanted" = "$($arm/ts-replay --digest "$1"/there/*.sbt)"
        wanted=$(build/ts-replay --digest --what-if "host 0.7" "$1"/here/*.sbt)
        test "$wanted" = "$(
            $arm/ts-replay --digest --what-if "host 0.7" "$1"/there/*.sbt)"' \
        "$packed" "$folder/$name"
done
