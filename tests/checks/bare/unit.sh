# The demo and the unit tests on a bare machine, by its clang: the demo was
# built by gcc. What its compilers warn of.
apt-get update -qq
apt-get install -y -qq make >/dev/null 2>&1
cd /root/tracesmith
make demo >demo.out 2>&1 || { cat demo.out; exit 1; }
tests/deps.sh check
UNIT='CC=clang CXX=clang++ CFLAGS=-O0' tests/run.sh unit strict
