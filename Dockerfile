# An image with the tools, of Debian's packages:
#   docker build -t tracesmith .
#   docker run -v "$PWD:/work" tracesmith ts-view run.sbt
ARG BASE=debian:bookworm-slim
FROM ${BASE} AS build
ENV DEBIAN_FRONTEND=noninteractive
RUN apt-get update && apt-get install -y --no-install-recommends dpkg-dev
COPY . /build/tracesmith
WORKDIR /build/tracesmith
ENV DEB_BUILD_PROFILES=nopython DEB_BUILD_OPTIONS=noautodbgsym
RUN apt-get build-dep -y --no-install-recommends ./
RUN dpkg-buildpackage -us -uc -b

FROM ${BASE}
RUN --mount=type=bind,from=build,source=/build,target=/build \
    apt-get update && apt-get install -y --no-install-recommends \
    /build/tracesmith_*.deb /build/libtracesmith*[0-9]_*.deb && \
    rm -r /var/lib/apt/lists/*
WORKDIR /work
CMD ["tracesmith"]
