# The demo and the unit tests on a bare machine, built with its clang (the demo
# with gcc), and the warnings of its compilers.
apt-get install -y -qq make >/dev/null 2>&1
cd /root/tracesmith
make demo >demo.out 2>&1 || { cat demo.out; exit 1; }
tests/deps.sh unit
# What the other checks need can be installed here, too. Of it comes another
# clang, whose warnings count.
more=$(tests/deps.sh --list check)
echo "$more" | grep -q ' valgrind '
apt-get install -s -qq --no-install-recommends $more >/dev/null
apt-get install -y -qq --no-install-recommends clang-18 >/dev/null 2>&1
UNIT='CC=clang CXX=clang++ CFLAGS=-O0' tests/run.sh unit strict
