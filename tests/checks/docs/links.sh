#!/bin/sh
# Every link between the pages of this repository leads to an existing file,
# and to a heading in it; and the commands of CONTRIBUTING.md exist.
set -u
failed=0
wrong() {
    echo "$*"
    failed=1
}

# As browsers find it: lower case, no punctuation, dashes for blanks.
anchors() {
    sed -n 's/^##* //p' "$1" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9_\n-'
}
links() {
    grep -oE '\]\([^) ]+\)' "$1" | sed 's/^](//; s/)$//' |
        grep -vE '^[a-z]+:'
}
count=0
for page in $(find . -name build -prune -o -name "*.md" -print); do
    for link in $(links "$page"); do
        count=$((count + 1))
        file=${link%%#*}
        case $file in
        '') file=$page ;;
        *) file=$(dirname "$page")/$file ;;
        esac
        test -e "$file" || wrong "$page: there is no $link"
        case $link in
        *#*) anchors "$file" | grep -qxF "${link#*#}" ||
            wrong "$page: no heading for $link" ;;
        esac
    done
done
echo "$count links"
test $count -gt 50 || wrong "so few links cannot be all"

sed -n 's/^\$ \([^#]*\).*/\1/p' CONTRIBUTING.md >build/contributing
while read -r program first rest; do
    case $program in
    make)
        make help | grep -q "^$first " || case $first in
        -j*) ;;
        *) wrong "there is no make $first" ;;
        esac
        name=$(echo "$rest" | sed -n "s/^NAME=//p" | tr -d "' ")
        test -z "$name" || tests/one.sh -n "$name" || wrong "no test $name"
        ;;
    tests/run.sh)
        for name in $first $rest; do
            test -e "tests/checks/$name.sh" || wrong "there is no check $name"
        done
        ;;
    tests/deps.sh) grep -qx "$first) .*" tests/deps.sh ||
        grep -qx "$first)" tests/deps.sh || wrong "no tests/deps.sh $first" ;;
    *) wrong "CONTRIBUTING.md: is there a $program?" ;;
    esac
done <build/contributing
test "$(wc -l <build/contributing)" -gt 8 || wrong "so few commands"
exit $failed
