# The layout is what .clang-format decides, and no line exceeds 80 columns.
. tests/lib.sh
check "format: clang-format" make -s format-check
check "format: 80 columns" sh -c '
    awk "length > 80 { print FILENAME \":\" FNR \": \" length \" columns\"
        found = 1 } END { exit found }" $(git ls-files "*.[ch]" "*.cpp" \
        "*.sh" Makefile)'
