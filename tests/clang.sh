#!/bin/sh
# Prints the name of the clang that the checks use. 14 comes first: it is what
# the hosted checks have.
for name in clang-14 clang clang-19 clang-18 clang-17 clang-16 clang-15; do
    if command -v "$name" >/dev/null; then
        echo "$name"
        exit 0
    fi
done
exit 1
