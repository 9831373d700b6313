#!/bin/sh
# Tests stacks by libunwind on machines that ts_stack.h does not know, by hand:
# built with Debian's cross compilers, run by qemu's user emulation. libunwind
# and xxHash of that machine are fetched with a separate configuration of apt;
# nothing is installed.
#   tests/checks/stacks/machines.sh MACHINE    (ppc64el, armhf, ...) runs
#                                       tests/checks/stacks/libunwind.c
# Exit status 77: something is missing.
set -u
machine=$1
case $machine in
ppc64el) tuple=powerpc64le-linux-gnu qemu=qemu-ppc64le-static ;;
armhf) tuple=arm-linux-gnueabihf qemu=qemu-arm-static ;;
riscv64) tuple=riscv64-linux-gnu qemu=qemu-riscv64-static ;;
mips64el) tuple=mips64el-linux-gnuabi64 qemu=qemu-mips64el-static ;;
*) echo "$machine: no such machine here" && exit 77 ;;
esac
for tool in $tuple-gcc $qemu apt-get; do
    command -v $tool >/dev/null || { echo "no $tool" && exit 77; }
done
mkdir -p "build/machines/$machine/lists/partial"
here=$(cd "build/machines/$machine" && pwd)
mkdir -p "$here/archives/partial"
archive=$(apt-get indextargets --format '$(LABEL) $(REPO_URI) $(CODENAME)' \
    'Identifier: Packages' | sed -n 's/^Debian //p' | head -n 1)
test "$archive" || { echo 'apt knows no archive of Debian' && exit 77; }
keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keys] $archive main" >"$here/sources"
: >"$here/status"
cat >"$here/conf" <<END
APT::Architecture "$machine";
APT::Architectures "$machine";
Dir::State "$here";
Dir::State::lists "$here/lists";
Dir::State::status "$here/status";
Dir::Cache "$here";
Dir::Etc::SourceList "$here/sources";
Dir::Etc::SourceParts "-";
APT::Sandbox::User "root";
END
root=$here/root
test -d "$root" || (
    export APT_CONFIG="$here/conf"
    cd "$here" && apt-get update -qq && apt-get download -qq libunwind-dev \
        libunwind8 liblzma5 libxxhash-dev && mkdir root &&
        for package in *.deb; do dpkg -x "$package" root || exit 1; done
) || exit 77
lib=$root/usr/lib/$tuple
$tuple-gcc -std=gnu11 -O2 -g -I. -fasynchronous-unwind-tables -Wall -Wextra \
    -idirafter "$root/usr/include" -I"$root/usr/include/$tuple" \
    tests/checks/stacks/libunwind.c -o "$here/libunwind" -L"$lib" \
    -Wl,-rpath-link,"$lib:$root/lib/$tuple" -lunwind -pthread -ldl || exit 1
$qemu -L "/usr/$tuple" -E "LD_LIBRARY_PATH=$lib:$root/lib/$tuple" \
    "$here/libunwind" "$here/trace.sbt" &&
    build/ts-view --events "$here/trace.sbt" | grep -q 'look < look.* < main'
