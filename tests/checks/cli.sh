# Compares the exact output of the tools with the transcripts tests/cli/*.test.
. tests/lib.sh
check_build "cli: build" all examples
for transcript in tests/cli/*.test; do
    test -e "$transcript" || continue
    name=${transcript#tests/cli/}
    LIMIT=60 check "cli: ${name%.test}" tests/transcript.sh "$transcript"
done
check "cli: a test names each key of JSON" node tests/cli/keys-asserted.mjs
check "cli: a test expects each sentence" node tests/cli/sentences-asserted.mjs
check "cli: one form of durations and shares" $HERE/durations.sh \
    tests/cli/*.out tests/cli/*.err tests/tools/analyze/*.txt \
    docs/examples/*.md
# shellcheck disable=SC2016 # for the inner shell and awk
check "cli: each --help fits in 80 columns" sh -c '
for tool in "$1"/ts-*; do
    test -x "$tool" || continue
    "$tool" --help || exit
done | awk "
    length > 80 || / \$/ { print; bad = 1 }
    END { exit bad || NR < 100 }"' sh "${OUT:-build}"
# shellcheck disable=SC2016 # for the inner shell
check "cli: each option is in the manual page" sh -c '
    count=0
    for tool in "$1"/ts-*; do
        test -x "$tool" || continue
        page=man/${tool##*/}.1
        for option in $("$tool" --help |
            sed -nE "s/^  (-[a-zA-Z], )?--([a-z-]+).*/\2/p"); do
            count=$((count + 1))
            grep -qE "(Fl|,) -$option( |\$)" "$page" ||
                { echo "$page: no --$option"; exit 1; }
        done
    done
    test $count -gt 200' sh "${OUT:-build}"
