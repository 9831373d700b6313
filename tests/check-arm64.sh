# The test programs for aarch64, under qemu. Their cmocka is Debian's, from
# its arm64 archive, unpacked into the build folder: no foreign architecture
# is added to the machine.
. tests/lib.sh
root=build/arm64/root
if ! test -e $root/usr/include/cmocka.h; then
    check "arm64: cmocka from Debian's archive" sh -c '
        set -e
        command -v apt-get >/dev/null || {
            echo "no apt-get to fetch libcmocka-dev for arm64 with"
            exit 77
        }
        mkdir -p '$root'/apt/lists/partial '$root'/apt/archives/partial
        cd '$root'
        apt="apt-get -q -o APT::Architecture=arm64
            -o APT::Architectures=arm64 -o Dir::State::Lists=$PWD/apt/lists
            -o Dir::Cache=$PWD/apt -o Dir::State::status=/dev/null
            -o APT::Sandbox::User=root"
        $apt update
        $apt download libcmocka0 libcmocka-dev
        for package in *.deb; do dpkg-deb -x $package .; done
        cp /usr/include/xxhash.h usr/include/'
fi
test -e $root/usr/include/cmocka.h || exit 0
# -fno-ivopts: gcc 12 folds two arrays into one index whose base wraps around
# below zero, which is right on the processor and stores nothing under qemu 7.2.
flags="-O1 -fno-ivopts -Werror -isystem $PWD/$root/usr/include"
check_build "arm64: build" OUT=build/arm64 CC=aarch64-linux-gnu-gcc \
    CXX=aarch64-linux-gnu-g++ AR=aarch64-linux-gnu-ar CFLAGS="$flags" \
    LDFLAGS="-L$PWD/$root/usr/lib/aarch64-linux-gnu" HAVE_ZSTD= \
    HAVE_ZLIB= HAVE_YAJL= HAVE_SQLITE= HAVE_XXHASH=yes tests examples
export QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
export QEMU_SET_ENV=LD_LIBRARY_PATH=$PWD/$root/usr/lib/aarch64-linux-gnu
check_programs arm64 build/arm64 qemu-aarch64-static
