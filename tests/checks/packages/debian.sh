#!/bin/sh
# Makes Debian's packages of what `make` has built.
#   tests/checks/packages/debian.sh FOLDER
set -eu
folder=$1
mkdir "$folder/tracesmith"
git ls-files -z --cached --others --exclude-standard |
    xargs -0 ls -d 2>/dev/null | tar cT - | tar xC "$folder/tracesmith"
ln -s "$PWD/build" "$folder/tracesmith/build"
cd "$folder/tracesmith"
# Little is compressed: that would take most of the time.
export TRACESMITH_OUT_FOLDER=build DEB_BUILD_PROFILES=nopython
export DEB_BUILD_OPTIONS='nocheck noautodbgsym'
export DPKG_DEB_COMPRESSOR_TYPE=gzip DPKG_DEB_COMPRESSOR_LEVEL=1
debian/rules binary
cd ..
rm -r tracesmith
for package in tracesmith libtracesmith0.1 libtracesmith-tools0.1 \
    libtracesmith-dev; do
    ls ${package}_*.deb
done
test "$(ls ./*.deb | wc -l)" = 4
