#!/bin/sh
# Builds and runs what NAME names, and prints its whole output: test programs
# (test_NAME), checks (tests/checks/NAME.sh) or, if there is neither, single
# tests of the programs (functions). NAME may be a pattern, such as 'reader*'.
#   tests/one.sh [-n] NAME    as `make test NAME=...`; -n only prints what it is
set -uf
cd "$(dirname "$0")/.." || exit 2
dry=
if test "${1:-}" = -n; then dry=yes; shift; fi
name=${1:-}
name=${name#test_}
if test -z "$name"; then
    echo "usage: make test NAME=...: a test program, a check or a test" >&2
    exit 2
fi

programs() { # PATTERN
    find tests -name "test_$1.c" -o -name "test_$1.cpp" |
        sed 's/[.][a-z]*$//' | sort
}
checks() { # PATTERN
    find tests/checks -maxdepth 1 -name "$1.sh" | sed 's,.*/,,; s/[.]sh$//' |
        sort
}
tests() { # lines of PROGRAM FUNCTION
    find tests -name 'test_*.c' -o -name 'test_*.cpp' | xargs awk '
        /(cmocka_unit_test[a-z_]*|^UNIT_TEST[A-Z_]*)\($/ {
            getline more
            $0 = $0 more
        }
        match($0, /(cmocka_unit_test[a-z_]*|^UNIT_TEST[A-Z_]*)\( *[a-z0-9_]+/) {
            sub(/.*(cmocka_unit_test[a-z_]*|UNIT_TEST[A-Z_]*)\( */, "")
            sub(/[^a-z0-9_].*/, "")
            program = FILENAME
            sub(/[.][a-z]*$/, "", program)
            print program, $0
        }' | sort -u
}

found=$(programs "$name")
scripts=$(checks "$name")
filter=
if test -z "$found$scripts"; then
    filter=$1
    found=$(tests | awk -v pattern="$filter" '
        BEGIN {
            gsub(/[*]/, "[a-z0-9_]*", pattern)
            gsub(/[?]/, "[a-z0-9_]", pattern)
        }
        $2 ~ "^" pattern "$" { print $1 }' | sort -u)
fi
if test -z "$found$scripts"; then
    echo "no test program, check or test is called $1" >&2
    { programs '*' | sed 's,.*/test_,,'; checks '*'; tests | cut -d' ' -f2; } |
        sort -u | awk -v name="$name" '
        function min(a, b) { return a < b ? a : b }
        # Letters to add, remove or exchange until the texts are the same.
        function distance(a, b,    i, j, row, above, left) {
            for (j = 0; j <= length(b); j++) row[j] = j
            for (i = 1; i <= length(a); i++) {
                above = row[0]
                row[0] = i
                for (j = 1; j <= length(b); j++) {
                    left = min(row[j], row[j - 1]) + 1
                    left = min(left, above + (substr(a, i, 1) != \
                        substr(b, j, 1)))
                    above = row[j]
                    row[j] = left
                }
            }
            return row[length(b)]
        }
        index($0, name) { print 0, length($0), $0; next }
        { d = distance(name, $0) }
        d <= 1 + length(name) / 4 { print d, length($0), $0 }' |
        sort -n -k1,1 -k2,2 | cut -d' ' -f3 | head -n 8 |
        sed '1s/^/near it: /; 2,$s/^/         /' >&2
    exit 2
fi

test -z "$dry" || { printf '%s\n' $found $scripts; exit; }
failed=0
if test -n "$found"; then
    ${MAKE:-make} -s $(printf "${OUT:-build}/%s " $found) || exit 1
fi
if test -n "$filter"; then
    ${CC:-cc} -fPIC -shared tests/filter.c -lcmocka \
        -o "${OUT:-build}/tests/filter.so" || exit 1
fi
for program in $found; do
    echo "${OUT:-build}/$program"
    env TEST_FILTER="$filter" \
        ${filter:+LD_PRELOAD="${OUT:-build}/tests/filter.so"} \
        "${OUT:-build}/$program" || failed=1
done
test -z "$scripts" || tests/run.sh $scripts || failed=1
exit $failed
