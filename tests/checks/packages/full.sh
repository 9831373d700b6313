# In a bare system: builds Debian's source package as its users do, installs
# all packages, and builds and runs a program in C and one in Python with them.
export DEBIAN_FRONTEND=noninteractive
quiet() {
    "$@" >/tmp/log 2>&1 || { tail -n 60 /tmp/log | cut -c 1-200; exit 1; }
}
quiet apt-get install -y -qq --no-install-recommends dpkg-dev
cd /root/tracesmith
quiet apt-get build-dep -y -qq --no-install-recommends ./
export DEB_BUILD_OPTIONS="parallel=2 noautodbgsym"
quiet dpkg-buildpackage -us -uc
cd ..
ls -l ./*.dsc ./*.deb
quiet apt-get install -y -qq --no-install-recommends lintian pkg-config
lintian --allow-root --fail-on error,warning ./*.changes
quiet apt-get install -y -qq --no-install-recommends ./*.deb
. /root/tracesmith/tests/checks/packages/used.sh
cp /root/tracesmith/tests/checks/install/consumer.c program.c
for way in '' --static; do
    tool cc -std=c11 program.c $(pkg-config $way --cflags --libs \
        tracesmith-tools) -o program
    rm -rf made
    mkdir made
    tool ./program made /root/tracesmith/docs/examples/job.tar.gz
done
tool python3 /root/tracesmith/python/tests/consumer.py
