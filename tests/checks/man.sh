# Every tool has a manual page, and mandoc reports nothing about it.
. tests/lib.sh
for source in tools/t*.c; do
    test -e "$source" || continue
    page=man/$(basename "$source" .c).1
    check "man: $page" mandoc -T lint -W warning "$page"
done
