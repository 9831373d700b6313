#!/bin/sh
# Prints the header that is made from the sections in a folder, in the order of
# its file `order`: src/amalgamate.sh [--lines] src/record. Numbers the
# sections, and the headings in CONTENTS: a heading of ==== begins a section,
# one of ---- a part of the section before. With --lines the compiler's
# messages name the section's file.
set -eu
lines=0
if test "$1" = --lines; then
    lines=1
    shift
fi
cd "$(dirname "$0")/.."
# shellcheck disable=SC2046 # file names without blanks
awk -v lines="$lines" -v folder="$1" '
    FNR == 1 {
        if (NR > 1) print ""
        else print "// Made by make from the sections in " folder \
            "/: edit those."
        if (lines) print "#line 1 \"" FILENAME "\""
        numbered = 0
    }
    /^\/\* (====|----) .* \*\/$/ && !numbered++ {
        if ($2 == "====") number = ++section "."
        else number = section "." ++part[section]
        sub(/ [=-]+ \*\/$/, "")
        heading = substr($0, 1, 8) number substr($0, 8)
        rule = $2 $2 $2 $2 $2 $2 $2 $2 $2 $2 $2 $2 $2 $2 $2 $2 $2 $2 $2 $2
        print substr(heading " " rule, 1, 76) " */"
        print "// " FILENAME
        if (lines) print "#line " FNR + 1 " \"" FILENAME "\""
        next
    }
    { print }
' $(sed "s,^,$1/," "$1/order")
