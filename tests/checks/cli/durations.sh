#!/bin/sh
# Texts of tools write a duration, a share or a size in one way: a number, a
# space, a unit; and never "-0". Prints the lines of the files that differ.
# Values of options have no space, so commands, quotes, the values of options
# and limits ("+5%") are left out.
set -u
# Binary and coloured ones are text here, too.
export LC_ALL=C
glued='(^|[^+0-9A-Za-z_.])[0-9][0-9,.]*(ns|us|ms|s|%)([^0-9A-Za-z]|$)'
zero='(^|[^0-9A-Za-z])[-+]0(\.0+)? (%|ns|us|ms|s|B)([^A-Za-z]|$)'
bad=$(
    for file; do
        sed -E -e "s/'[^']*'//g" -e 's/\x1b\[[0-9;]*m//g' \
            -e '/^(\$|---|  *ts-|  --|ts-[a-z]* )/d' \
            -e 's/--[a-z]+[ =][^ ]+//g' -e 's/=-?[0-9.]+[a-z]+//g' \
            -e 's/such as .*//; s/what if [^:]*:/what if:/' \
            "$file" |
            grep -anE -e "$glued" -e "$zero" |
            sed "s|^|${file#tests/cli/}: |"
    done
)
# A sentence about no share of anything says nothing.
none=$(grep -anE '(^|[a-z(]) 0\.0 % (of|was|goes)' "$@")
bad=$bad$none
test -z "$bad" || {
    printf '%s\n' "$bad"
    exit 1
}
