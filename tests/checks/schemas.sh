# What tools print with --json fits docs/json-schema, where every key of theirs
# stands, and has every key that stands there; and clients of the Model Context
# Protocol, as npm has them, are answered by ts-mcp as its schema says.
. tests/lib.sh
folder=$PWD/build/schemas
rm -rf "$folder/bin" "$folder/kept" "$folder/others"
mkdir -p "$folder"
check_build "schemas: build" all examples

# Names of columns of ts-query, words in tables, fields of messages and pages.
check "schemas: each key that a tool can print is in one" sh -ec '
    node tests/cli/keys-asserted.mjs --all | tr " " "\n" | sort -u >$0/printed
    grep -oh "\"[a-z][a-z0-9_]*\":" docs/json-schema/*.json | tr -d "\":" |
        sort -u >$0/described
    printf "%s\n" category code message version yes no data peer selected \
        capabilities contents error instructions jsonrpc other requested \
        resources supported uri | sort >$0/others.keys
    comm -23 $0/printed $0/described | comm -23 - $0/others.keys >$0/missing
    cat $0/missing
    test ! -s $0/missing && test $(wc -l <$0/described) -gt 600' "$folder"

lacks=
if ! cmp -s "$HERE/package-lock.json" "$folder/node_modules/.lock"; then
    cp "$HERE"/package*.json "$folder"
    (cd "$folder" && npm ci --no-audit --no-fund --ignore-scripts --silent &&
        cp package-lock.json node_modules/.lock) >"$folder/npm.log" 2>&1 ||
        lacks="the packages of $HERE, which npm cannot install"
fi
if test -n "$lacks"; then
    check "schemas: --json and ts-mcp" sh -c 'echo "needs $0"; exit 77' "$lacks"
    exit 0
fi

# Transcripts again, with tools that keep what they print.
check "schemas: JSON of transcripts and others" sh -ec '
    tests/checks/schemas/tools.sh $0/bin $0/kept
    for transcript in $(grep -l -e --json tests/cli/*.test); do
        TS_TOOLS=$0/bin tests/transcript.sh $transcript >$0/said 2>&1 ||
            test $transcript = tests/cli/info-usage.test ||
            { echo $transcript; cat $0/said; exit 1; }
    done
    PATH=$0/bin:$PATH tests/checks/schemas/others.sh $0/others' "$folder"
check "schemas: each --json fits its schema, and has all of its keys" \
    node $HERE/validate.mjs "$folder/node_modules" docs/json-schema \
    "$folder/kept"
check "schemas: a client of ts-mcp" sh -ec '
    build/ts-replay --what-if "scale gemm=1.5" -o $0/others/after.sbt \
        $0/others/job.sbt >$0/said
    node $HERE/client.mjs $0/node_modules build/ts-mcp $0/others/job.sbt \
        $0/others/after.sbt tests/cli/replay-lossy.sbt \
        tests/cli/analyze-memory.sbt' "$folder"
check "schemas: a client of ts-mcp without sessions" node $HERE/modern.mjs \
    "$folder/node_modules" build/ts-mcp tests/cli/replay-lossy.sbt
