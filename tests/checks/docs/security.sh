#!/bin/sh
# Every test that docs/security.md names exists, and every list item there
# names one, or says that it is untested. Tests are `test_FILE: FUNCTION`,
# `FUNCTION`, `AREA: LABEL` of tests/checks/AREA.sh, and files of tests/.
set -u
failed=0
page=docs/security.md
wrong() {
    echo "$page: $*"
    failed=1
}

tests=$(tr '\n' ' ' <$page | grep -o '`[^`]*`' | tr -d '`' | sed 's/  */ /g')
count=0
while read -r name; do
    case $name in
    /* | *=* | *.*_*) continue ;;
    test_*)
        file=$(find tests -name "${name%%:*}.c")
        test -f "$file" || wrong "there is no ${name%%:*}.c"
        test "$name" = "${name%%: *}" ||
            grep -qE "\b${name#*: }\b" "$file" 2>/dev/null ||
            wrong "no test ${name#*: } is in $file"
        ;;
    tests/*) test -f "$name" || wrong "there is no $name" ;;
    *': '*)
        file=tests/checks/${name%%: *}.sh
        for part in "${name#*: }"; do
            grep -qF "${part##*, }" "$file" 2>/dev/null ||
                wrong "no check '$part' is in $file"
        done
        ;;
    [a-z]*_*_*_*)
        grep -rqE "\b$name\b" --include='test_*.c' tests ||
            wrong "there is no test $name"
        ;;
    *) continue ;;
    esac
    count=$((count + 1))
done <<EOT
$tests
EOT
echo "$count tests are named"
test $count -ge 25 || wrong "so few tests cannot be all"

# A point is a list's item with what is indented below it.
awk '
    function done() {
        if (point && text !~ /untested|test_|tests\// &&
            text !~ /`[a-z-]+: |_[a-z]+_[a-z]+_/) {
            print "no test: " point
            bad = 1
        }
        point = text = ""
    }
    /^- / { done(); point = $0 }
    /^$|^#|^\|/ { done() }
    point { text = text $0 }
    END { done(); exit bad }' $page || failed=1
exit $failed
