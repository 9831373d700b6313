#!/bin/sh
# Fetches NVIDIA's own CUPTI, driver and compiler for the checks of this
# folder, from the component non-free of the archive that this Debian system
# uses. It changes nothing in the system's configuration, installs nothing, and
# keeps what was fetched.
#   tests/checks/nvidia/fetch.sh FOLDER    into FOLDER/SUITE/usr/...
# Exit status 77, and one sentence: it cannot be fetched here. The download is
# 56 MiB.
set -u
folder=$1
no() {
    echo "nothing of NVIDIA's: $1"
    exit 77
}
if test -e "$folder/done"; then exit 0; fi
command -v apt-get dpkg >/dev/null || no 'this is no Debian system'
test "$(dpkg --print-architecture)" = amd64 || no 'only for amd64'
keys=/usr/share/keyrings/debian-archive-keyring.gpg
test -e $keys || no "no $keys"
# The label is in lists that apt has fetched: without one it is empty.
archive=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' \
    'Identifier: Packages' 2>/dev/null | sed -n 's/^Debian //p' | head -n 1)
test "$archive" || no 'apt knows no archive of Debian (apt-get update)'

rm -rf "$folder"
mkdir -p "$folder/apt/lists/partial" "$folder/apt/archives/partial"
here=$(cd "$folder" && pwd)
for suite in bookworm trixie; do
    echo "deb [signed-by=$keys] $archive $suite non-free"
done >"$here/apt/sources"
: >"$here/apt/status"
# Beside what the system's own configuration says of proxies and the like.
cat >"$here/apt/conf" <<END
Dir::State "$here/apt";
Dir::State::lists "$here/apt/lists";
Dir::State::status "$here/apt/status";
Dir::Cache "$here/apt";
Dir::Etc::SourceList "$here/apt/sources";
Dir::Etc::SourceParts "-";
APT::Sandbox::User "root";
END
export APT_CONFIG="$here/apt/conf"
timeout 60 apt-get update -qq >"$here/log" 2>&1 ||
    no "its lists cannot be fetched ($(tail -n 1 "$here/log"))"
get() { # SUITE PACKAGE...
    suite=$1
    shift
    mkdir -p "$here/$suite/packages"
    for package; do
        (cd "$here/$suite/packages" &&
            timeout 120 apt-get download -qq "$package/$suite") \
            >"$here/log" 2>&1 ||
            no "$package cannot be fetched ($(tail -n 1 "$here/log"))"
    done
    for package in "$here/$suite"/packages/*.deb; do
        dpkg --fsys-tarfile "$package" | tar -x -C "$here/$suite" \
            --exclude=*.a --exclude=*libnvperf* --exclude=./usr/share ||
            no "$package cannot be unpacked"
    done
    rm -r "$here/$suite/packages"
}
get bookworm libcupti-dev libcupti11.8 libcuda1
get trixie libcupti-dev libcupti12 libcuda1 libnvrtc12 libnvrtc-builtins12.4
: >"$here/done"
