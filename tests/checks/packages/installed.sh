# In a bare system with the packages in /mnt: installs them, records a program,
# and looks at the trace with each tool.
export DEBIAN_FRONTEND=noninteractive
apt-get install -y -qq --no-install-recommends /mnt/tracesmith_*.deb \
    /mnt/libtracesmith0.1_*.deb /mnt/libtracesmith-tools0.1_*.deb \
    >/tmp/apt.log 2>&1 || { cat /tmp/apt.log; exit 1; }
. /root/tracesmith/tests/checks/packages/used.sh
tool /mnt/records # with the library of the package
tool ts-info --verify trace.sbt
ts-view --events trace.sbt | grep 'zone  *work'
# Nothing is left.
apt-get purge -y -qq tracesmith libtracesmith0.1 libtracesmith-tools0.1 \
    >/tmp/apt.log 2>&1 || { cat /tmp/apt.log; exit 1; }
if find / -xdev -path /root -prune -o -name '*tracesmith*' -print | grep .; then
    exit 1
fi
