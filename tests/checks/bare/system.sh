#!/bin/sh
# Runs a script as root in a bare Debian system with the project's tree in
# /root/tracesmith and, if it is named, a folder in /mnt; prints its output.
#   tests/checks/bare/system.sh SUITE MIRROR SCRIPT [FOLDER]
# The system is in memory, in namespaces of its own: its mounts and processes
# disappear with this process, however it ends. Packages and, for a day, the
# bare system are kept in build/bare.
set -eu
suite=$1 mirror=$2 script=$3
packages=$PWD/build/bare/$suite
apt=$packages/apt/$(basename "$script" .sh) # apt locks it
if test "${INSIDE:-}" != "$suite"; then
    root=$packages.root.$$
    mkdir -p "$packages/base" "$apt/partial" "$root"
    INSIDE=$suite ROOT=$root unshare --mount --pid --fork --kill-child \
        --propagation private "$0" "$@" & # it heeds SIGKILL alone
    trap "kill -KILL $!" INT TERM
    status=0
    wait $! || status=1
    rmdir "$root"
    exit $status
fi

inside() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb \
        chroot "$ROOT" "$@"
}
make_system() {
    debootstrap --variant=minbase --cache-dir="$packages/base" "$suite" \
        "$ROOT" "$mirror" >"$packages/log" ||
        { tail -n 20 "$packages/log"; exit 1; }
    echo force-unsafe-io >"$ROOT/etc/dpkg/dpkg.cfg.d/fast"
    apt-config dump | grep -i '::proxy' >"$ROOT/etc/apt/apt.conf.d/90proxy" ||
        :
    inside apt-get update -qq
    tar cf "$packages/system.new" -C "$ROOT" .
    mv "$packages/system.new" "$packages/system.tar"
}
mount -t tmpfs -o mode=755 none "$ROOT"
exec 8>"$packages/lock"
flock 8
if find "$packages/system.tar" -mtime -1 2>/dev/null | grep -q .; then
    tar xf "$packages/system.tar" -C "$ROOT"
else
    make_system
fi
exec 8>&-
mount --bind "$apt" "$ROOT/var/cache/apt/archives"
mount --rbind /dev "$ROOT/dev"
mount -t proc proc "$ROOT/proc"
test -z "${4:-}" || mount --bind "$4" "$ROOT/mnt"

# What is committed or could be: what git knows and does not ignore.
mkdir "$ROOT/root/tracesmith"
git ls-files -z --cached --others --exclude-standard |
    xargs -0 ls -d 2>/dev/null | tar cT - | tar xC "$ROOT/root/tracesmith"
inside sh -eu "/root/tracesmith/$script"
