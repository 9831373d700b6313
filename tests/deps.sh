#!/bin/sh
# Provides what a target needs: as root on a Debian system it installs missing
# packages, elsewhere it prints what to install.
#   tests/deps.sh build | unit | check
#   tests/deps.sh --list ...    prints the packages of what is missing
set -eu
cd "$(dirname "$0")/.."

# Each line: how to see that it is there, and the Debian package.
build='compiler - gcc
command make make
header stdlib.h libc6-dev
header xxhash.h libxxhash-dev'
# What the tools can do more with; the layout is looked at by one version only.
better='header zstd.h libzstd-dev
header zlib.h zlib1g-dev
header libdeflate.h libdeflate-dev
header archive.h libarchive-dev
header yajl/yajl_parse.h libyajl-dev
header sqlite3.h libsqlite3-dev
header editline/readline.h libedit-dev
header elfutils/libdwelf.h libdw-dev
header libunwind.h libunwind-dev
header libiberty/demangle.h libiberty-dev
header microhttpd.h libmicrohttpd-dev
header babeltrace2/babeltrace.h libbabeltrace2-dev
header otf2/otf2.h libopen-trace-format2-dev'
unit='command gcc gcc
command g++ g++
clang - clang
command dot graphviz
command node nodejs
header cmocka.h libcmocka-dev'
check='command git git
sanitizer - libclang-rt-dev
command valgrind valgrind
command mandoc mandoc
command npm npm
command sqlite3 sqlite3
command xmllint libxml2-utils
command cmake cmake
command pkg-config pkg-config
command debootstrap debootstrap
command aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
command qemu-aarch64-static qemu-user-static
file /usr/aarch64-linux-gnu/include/stdlib.h libc6-dev-arm64-cross
header CL/cl_layer.h opencl-headers
library OpenCL ocl-icd-opencl-dev
file /etc/OpenCL/vendors/pocl.icd pocl-opencl-icd'

list=
test "${1:-}" != --list || { list=yes && shift; }
case ${1:-} in
build) needed=$build ;;
unit)
    needed="$build
$better
$unit"
    better=
    ;;
check) # and what single checks need, which are skipped without it
    needed="$build
$better
$unit
$check"
    better='command clang-format-14 clang-format-14
command clang-16 clang-16
command wasm-ld-16 lld-16
file /usr/lib/wasm32-wasi/libc.a wasi-libc
file /usr/lib/llvm-16/lib/clang/16/lib/wasi libclang-rt-16-dev-wasm32
command chromium chromium
file /usr/share/fonts/truetype/dejavu fonts-dejavu-core
file /usr/bin/python3 python3
python Python.h python3-dev
python pip python3-pip
python setuptools python3-setuptools
python wheel python3-wheel
python pytest python3-pytest
python numpy python3-numpy
python pandas python3-pandas
python otf2 python3-otf2
command otf2-print otf2-tools
command cargo cargo
command rustc rustc
command cargo-clippy rust-clippy
command rustfmt rustfmt
crate tracing-subscriber librust-tracing-subscriber-dev
command dh debhelper
command lintian lintian
command rpmspec rpm
command musl-gcc musl-tools
command arm-linux-gnueabihf-gcc gcc-arm-linux-gnueabihf
file /usr/arm-linux-gnueabihf/include/stdlib.h libc6-dev-armhf-cross
command riscv64-linux-gnu-gcc gcc-riscv64-linux-gnu
file /usr/riscv64-linux-gnu/include/stdlib.h libc6-dev-riscv64-cross'
    ;;
*) echo 'usage: tests/deps.sh [--list] build|unit|check' >&2; exit 2 ;;
esac

compiler() {
    for name in ${CC:-} cc gcc clang "$(tests/clang.sh || :)"; do
        if command -v "$name"; then return; fi
    done
    return 1
}

there() {
    case $1 in
    compiler) compiler >/dev/null ;;
    clang) tests/clang.sh >/dev/null ;;
    command) command -v "$2" >/dev/null ;;
    header) echo "#include <$2>" | $(compiler) -E -xc - >/dev/null 2>&1 ;;
    library)
        echo 'int main(void) { return 0; }' |
            $(compiler) -xc - -o /dev/null "-l$2" 2>/dev/null ;;
    file) test -e "$2" ;;
    crate) ls -d /usr/share/cargo/registry/"$2"-[0-9]* >/dev/null 2>&1 ;;
    python) # the system's: others bring what they need
        if test "$2" = Python.h; then set -- "$1" "os, sysconfig;
os.stat(sysconfig.get_path('include') + '/Python.h')"; fi
        /usr/bin/python3 -c "import $2" 2>/dev/null ;;
    sanitizer)
        echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
            $(tests/clang.sh) -fsanitize=fuzzer,address -xc - -o /dev/null \
                2>/dev/null ;;
    esac
}

# The packages of what is not there.
missing() {
    echo "$1" | while read -r how what package; do
        there "$how" "$what" || printf ' %s' "$package"
    done
}

# Of HIP its headers alone, for one test: the package would bring AMD's runtime.
# Without them the test is left out.
hip_headers() {
    into=build/hip-headers
    if test "$1" != check || ! command -v apt-get dpkg >/dev/null ||
        test -e /usr/include/hip/hip_runtime_api.h || test -e $into; then
        return 0
    fi
    fetched=$(mktemp -d)
    if (cd "$fetched" && chmod 755 . && apt-get download -qq libamdhip64-dev &&
        dpkg -x ./*.deb headers) >/dev/null 2>&1; then
        mkdir -p build && mv "$fetched/headers" $into
    fi
    rm -r "$fetched"
}

# The packages that this system's archive has.
known() {
    for package; do
        ! apt-cache show "$package" 2>/dev/null | grep -q . || echo "$package"
    done
}

install() {
    # shellcheck disable=SC2086 # options
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
        --no-install-recommends "$@" >/dev/null
}

lacks=$(missing "$needed")
could=$(missing "$better")
if test -n "$list"; then
    echo $lacks
    exit
fi
if test -n "$lacks$could" && test "$(id -u)" = 0 &&
    command -v apt-get >/dev/null; then
    test -n "$(known libxxhash-dev)" || apt-get update -qq
    packages=$(echo $lacks $(known $could))
    if test -n "$packages"; then
        echo "Installing $packages ..."
        # What could not be installed is told below.
        install $packages 2>/dev/null ||
            { apt-get update -qq && install $packages; } || :
        lacks=$(missing "$needed")
        could=$(missing "$better")
    fi
fi
if ! compiler >/dev/null; then
    echo 'There is no C compiler here: please install gcc or clang.' >&2
    exit 1
elif test -n "$lacks"; then
    echo "Please install what is missing (Debian names):$lacks." >&2
    exit 1
fi
if test -n "$could" && test "$1" = build; then
    echo "Without$could (Debian names) each tool says what it cannot do."
fi
hip_headers "$1"
