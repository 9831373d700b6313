# Debian's packages: made from what `make` built, without a complaint of
# lintian's, installed in a bare system, and used there. With TS_FULL=1 the
# source package is built in a bare system, and the module of Python with it.
. tests/lib.sh
. tests/bare.sh
folder=$PWD/build/packages
rm -rf "$folder"
mkdir -p "$folder"
for tool in dpkg-buildpackage dh lintian; do
    if ! command -v $tool >/dev/null; then
        check "packages" sh -c 'echo "$0 is not here (Debian: dpkg-dev," \
            "debhelper and lintian)"; exit 77' $tool
        exit 0
    fi
done
if test "${TS_FULL:-}" = 1; then
    bare "packages: all of them, built and used in a bare system" bookworm \
        $HERE/full.sh
fi
check_build "packages: build" all
# The committed tree, but its folder build is ours.
check "packages: Debian's" $HERE/debian.sh "$folder"
check "packages: lintian has no complaint" sh -c '
    lintian --allow-root --fail-on error,warning --tag-display-limit 0 \
        "$0"/*.deb' "$folder"
check "packages: programs are built with what libtracesmith-dev has" \
    $HERE/develop.sh "$folder"
# They need the libraries of the system that built them.
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
if test "$suite"; then
    bare "packages: installed in a bare system" "$suite" $HERE/installed.sh \
        "$folder"
else
    check "packages: installed in a bare system" sh -c '
        echo "/etc/os-release has no VERSION_CODENAME to install them in"
        exit 77'
fi
