# Carries out the steps of Dockerfile in a bare system: where images cannot be
# built, as here, at least its commands are run.
export DEBIAN_FRONTEND=noninteractive
cd /root/tracesmith
export $(sed -n 's/^ENV DEB_/DEB_/p' Dockerfile)
mkdir /build
cp -R . /build/tracesmith
cd /build/tracesmith
awk '/^FROM/ { stage++ } /^RUN --mount/ { sub(/RUN [^ ]* /, "RUN ") }
    /^RUN/ { on = 1 } on { sub(/^RUN /, ""); print }
    on && !/\\$/ { on = 0 }' Dockerfile >steps
cat steps
sh -ex steps >log 2>&1 || { tail -n 100 log; exit 1; }
ts-info --version
