#!/bin/sh
# Runs a script of tests/checks/bare as root in a bare Debian system with the
# project's tree in /root/tracesmith, and prints what it says.
#   tests/checks/bare/system.sh SUITE MIRROR SCRIPT
# The system is in memory, in name spaces of its own: mounts and processes are
# gone with this process, however it ends. Packages are kept in build/bare.
set -eu
suite=$1 mirror=$2 script=$3
packages=$PWD/build/bare/$suite
root=$PWD/build/bare/$suite.root
if test "${INSIDE:-}" != "$suite"; then
    mkdir -p "$packages/base" "$packages/apt/partial" "$root"
    INSIDE=$suite unshare --mount --pid --fork --kill-child \
        --propagation private "$0" "$@" & # it heeds SIGKILL alone
    trap "kill -KILL $!" INT TERM
    wait $! && exit
    exit 1
fi

mount -t tmpfs -o mode=755 none "$root"
debootstrap --variant=minbase --cache-dir="$packages/base" "$suite" "$root" \
    "$mirror" >"$packages/log" || { tail -n 20 "$packages/log"; exit 1; }
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/fast"
apt-config dump | grep -i '::proxy' >"$root/etc/apt/apt.conf.d/90proxy" || :
mount --bind "$packages/apt" "$root/var/cache/apt/archives"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"

# What is committed or could be: what git knows and does not ignore.
mkdir "$root/root/tracesmith"
git ls-files -z --cached --others --exclude-standard |
    xargs -0 ls -d 2>/dev/null | tar cT - | tar xC "$root/root/tracesmith"
cd "$root"
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb \
    chroot . sh -eu "/root/tracesmith/$script"
