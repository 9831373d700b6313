# For checks in a bare Debian system, which is made by debootstrap with the
# package sources of the host's apt. Read it after tests/lib.sh.
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

# Runs a script there, see tests/checks/bare/system.sh.
# usage: bare LABEL SUITE SCRIPT [FOLDER]
bare() {
    local label
    label=$1
    shift
    if why=$(lacks); then
        check "$label" sh -c 'echo "$0"; exit 77' "$why"
    else
        LIMIT=3600 check "$label" tests/checks/bare/system.sh "$1" "$mirror" \
            "$2" ${3:+"$3"}
    fi
}
