#!/bin/sh
# Makes sure that what a target needs is there: as root on a Debian system by
# installing the missing packages, elsewhere by saying what to install.
#   tests/deps.sh build | check
set -eu

# Each line: how to see that it is there, and the Debian package.
build='command gcc gcc
command make make
header stdlib.h libc6-dev
header xxhash.h libxxhash-dev'
check='command g++ g++
command git git
command clang-14 clang-14
sanitizer clang-14 libclang-rt-14-dev
command clang-format-14 clang-format-14
command valgrind valgrind
command mandoc mandoc
command dot graphviz
command node nodejs
command npm npm
command sqlite3 sqlite3
command xmllint libxml2-utils
command aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
command qemu-aarch64-static qemu-user-static
file /usr/aarch64-linux-gnu/include/stdlib.h libc6-dev-arm64-cross
header cmocka.h libcmocka-dev
header zstd.h libzstd-dev
header zlib.h zlib1g-dev
header yajl/yajl_parse.h libyajl-dev
header sqlite3.h libsqlite3-dev
header editline/readline.h libedit-dev
header elfutils/libdwelf.h libdw-dev
header CL/cl_layer.h opencl-headers
library OpenCL ocl-icd-opencl-dev
file /etc/OpenCL/vendors/pocl.icd pocl-opencl-icd'

case ${1:-} in
build) wanted=$build ;;
check) wanted="$build
$check" ;;
*) echo 'usage: tests/deps.sh build|check' >&2; exit 2 ;;
esac

there() {
    case $1 in
    command) command -v "$2" >/dev/null ;;
    header) echo "#include <$2>" | cc -E -xc - >/dev/null 2>&1 ;;
    library)
        echo 'int main(void) { return 0; }' |
            cc -xc - -o /dev/null "-l$2" 2>/dev/null ;;
    file) test -e "$2" ;;
    sanitizer)
        echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
            "$2" -fsanitize=fuzzer,address -xc - -o /dev/null 2>/dev/null ;;
    esac
}

# Of HIP its headers alone, for one test: the package would bring AMD's runtime.
# Without them the test is left out.
hip_headers() {
    into=build/hip-headers
    if test "$1" = build || ! command -v apt-get dpkg >/dev/null ||
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

missing=$(echo "$wanted" | while read -r how what package; do
    there "$how" "$what" || printf ' %s' "$package"
done)
if test -z "$missing"; then
    hip_headers "$1"
    exit 0
fi

if test "$(id -u)" != 0 || ! command -v apt-get >/dev/null; then
    echo "Please install what is missing (Debian names):$missing." >&2
    exit 1
fi
echo "Installing$missing ..."
export DEBIAN_FRONTEND=noninteractive
install="apt-get install -y -qq --no-install-recommends"
# shellcheck disable=SC2086 # a list of packages
$install $missing >/dev/null 2>&1 ||
    { apt-get update -qq && $install $missing >/dev/null; }
hip_headers "$1"
