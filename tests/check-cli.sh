# What the tools say, word for word: tests/cli/*.test.
. tests/lib.sh
check_build "cli: build" all examples
for transcript in tests/cli/*.test; do
    test -e "$transcript" || continue
    name=${transcript#tests/cli/}
    LIMIT=60 check "cli: ${name%.test}" tests/transcript.sh "$transcript"
done
