# The first hour on bare Debian systems of this and of the last version, made
# by debootstrap with what the host's own apt gets its packages from.
. tests/lib.sh
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' \
    2>/dev/null | grep -v security | head -n 1)
mkdir -p build/bare
lacks() {
    if test "$(id -u)" != 0; then
        echo 'only root can make a bare system'
    elif ! command -v debootstrap >/dev/null; then
        echo 'debootstrap is not installed'
    elif ! unshare --mount --pid --fork --propagation private \
        mount -t tmpfs none build 2>/dev/null; then
        echo 'nothing can be mounted here'
    elif ! grep -q '^ID=debian' /etc/os-release || test -z "$mirror"; then
        echo 'the apt of this system has no archive of Debian'
    elif ! /usr/lib/apt/apt-helper download-file \
        "$mirror/dists/bookworm/InRelease" build/bare/reached >/dev/null 2>&1
    then
        echo 'the archive of Debian cannot be reached'
    else
        return 1
    fi
}
bare() { # LABEL SUITE SCRIPT
    if why=$(lacks); then
        check "$1" sh -c 'echo "$0"; exit 77' "$why"
    else
        LIMIT=3600 check "$1" $HERE/system.sh "$2" "$mirror" \
            "$HERE/$3.sh"
    fi
}
bare "bare: Debian 12, demo and tools" bookworm first-hour
bare "bare: Debian 13, demo and unit tests" trixie unit
