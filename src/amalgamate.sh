#!/bin/sh
# Prints a top-level header from its sections: src/amalgamate.sh src/record
# They are plain text in reading order; a blank line goes between two.
set -eu
first=1
for section in "$1"/[0-9]*.h; do
    test "$first" = 1 || echo
    first=0
    cat "$section"
done
