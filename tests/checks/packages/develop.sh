#!/bin/sh
# Builds programs with the files of libtracesmith-dev, as pkg-config and CMake
# find them, and runs them with the libraries of the packages.
#   tests/checks/packages/develop.sh FOLDER
# FOLDER/records is for installed.sh.
set -eu
folder=$1 top=$PWD
root=$folder/root
for package in "$folder"/libtracesmith*.deb; do
    dpkg-deb -x "$package" "$root"
done
lib=$root/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
cp tests/checks/install/consumer.c "$folder/program.c"
job=$PWD/docs/examples/job.tar.gz
export PKG_CONFIG_PATH="$lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
export LD_LIBRARY_PATH="$lib"
mkdir "$folder/out" "$folder/cmake"
cd "$folder"
cc -std=c11 program.c $(pkg-config --cflags --libs tracesmith-tools) -o program
readelf -d program | grep 'NEEDED.*libtracesmith-tools[.]so[.]0[.]1'
./program out "$job"
awk '/^```c$/ && !done { on = done = 1; next } /^```/ { on = 0 }
    on && !/define TRACESMITH_IMPLEMENTATION/' "$top/README.md" >records.c
cc records.c $(pkg-config --cflags --libs tracesmith) -o records
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.13)
project(program C)
find_package(tracesmith 0.1 REQUIRED)
foreach(way tools tools_static)
    add_executable(${way} program.c)
    target_link_libraries(${way} tracesmith::${way})
endforeach()
END
cmake -S . -B cmake -DCMAKE_PREFIX_PATH="$root/usr" \
    -DCMAKE_LIBRARY_ARCHITECTURE="${lib##*/}"
cmake --build cmake
for way in tools tools_static; do
    rm -r out
    mkdir out
    cmake/$way out "$job"
done
