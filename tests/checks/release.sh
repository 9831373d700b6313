# packaging/release.sh makes packages of the committed tree: the same bytes
# twice, each file listed with its sum, and nothing missing. With TS_FULL=1 all
# packages are made, two times, and used: an hour of a processor.
. tests/lib.sh
folder=$PWD/build/releases
rm -rf "$folder"
mkdir -p "$folder"
git rev-parse -q --verify HEAD >"$folder/commit" 2>/dev/null || {
    check "release" sh -c 'echo "this tree is no clone"; exit 77'
    exit 0
}
export URL=https://tracesmith.example/releases/
few="source crates sdist formula"
check "release: what needs no compiler" packaging/release.sh "$folder/1" $few
check "release: once more" packaging/release.sh "$folder/2" $few
check "release: the same bytes, as listed" sh -ec '
    cd "$0/1"
    sha256sum -c --strict SHA256SUMS
    find . -type f | wc -l
    test "$(find . -type f | wc -l)" = $(($(wc -l <SHA256SUMS) + 1))
    diff -r . ../2' "$folder"
check "release: all committed files, and all that a build needs" sh -ec '
    tar tzf "$0"/1/tracesmith-[0-9.]*.tar.gz | sed "s,[^/]*/,,; /^$/d" |
        grep -v "/$" | sort >"$0/packed"
    git ls-tree -r --name-only HEAD | sort | diff - "$0/packed"
    tar tzf "$0"/1/python/*.tar.gz | sed "s,[^/]*/,," | sort >"$0/sdist"
    git ls-tree -r --name-only HEAD Makefile LICENSE THIRD-PARTY backends \
        packaging src tools python/native python/setup.py \
        python/tracesmith setup.py \
        tests/clang.sh tests/deps.sh docs/json-schema |
        sort | comm -23 - "$0/sdist" >"$0/missing"
    cat "$0/missing"
    test ! -s "$0/missing"' "$folder"
check "release: the formula names the tar file and its sum" sh -ec '
    cd "$0/1"
    file=$(ls tracesmith-[0-9.]*.tar.gz)
    grep "url \"https://tracesmith.example/releases/$file\"" tracesmith.rb
    grep "sha256 \"$(sha256sum "$file" | cut -c 1-64)\"" tracesmith.rb
    grep "\"HAVE_OTF2=\"" tracesmith.rb
    ! grep @ tracesmith.rb' "$folder"
check "release: says what it leaves out, and what it does not know" sh -ec '
    unset URL
    packaging/release.sh "$0/3" formula 2>"$0/said"
    grep "formula: left out: URL does not say where tracesmith-" "$0/said"
    test ! -s "$0/3/SHA256SUMS"
    status=0
    packaging/release.sh "$0/3" sorce 2>"$0/said" || status=$?
    grep "^release: sorce: no such package" "$0/said"
    test $status = 2' "$folder"
check "release: rpm reads the spec file" sh -ec '
    command -v rpmspec >/dev/null ||
        { echo "rpmspec is not here (Debian: rpm)"; exit 77; }
    sed "s/@VERSION@/0.1.0/; s/@SERIES@/0.1/" packaging/tracesmith.spec \
        >"$0/tracesmith.spec"
    rpmspec -P "$0/tracesmith.spec" >"$0/spec"
    test "$(grep -c HAVE_OTF2= "$0/spec")" = 2 # of make, and of make install
    rpmspec -q --nodebuginfo --qf "%{name}\n" "$0/tracesmith.spec" | sort |
        tr "\n" " " >"$0/names"
    test "$(cat "$0/names")" = "tracesmith tracesmith-devel tracesmith-libs "' \
    "$folder"
test "${TS_FULL:-}" = 1 || exit 0

LIMIT=3600
export RPM_OPTIONS=--nodeps
rm -rf "$folder/1" "$folder/2"
many="$few wheel debian rpm"
check "release: all packages" packaging/release.sh "$folder/1" $many
check "release: all, once more" packaging/release.sh "$folder/2" $many
check "release: all have the same bytes" diff -r "$folder/1" "$folder/2"
check "release: pip builds the sdist without a network" sh -ec '
    /usr/bin/python3 -m venv --system-site-packages "$0/venv"
    "$0/venv/bin/python" -m pip install -q --no-index --no-build-isolation \
        "$0"/1/python/*.tar.gz
    cd "$0" && mkdir cwd && cd cwd && ../venv/bin/python -c "
import tracesmith
with tracesmith.record(\"a.sbt\"):
    with tracesmith.zone(\"step\"):
        pass
with tracesmith.open(\"a.sbt\") as t:
    assert t.query(\"SELECT count(*) AS n FROM zone\")[\"n\"][0] == 1"' \
    "$folder"
. tests/bare.sh
bare "release: the steps of Dockerfile" bookworm $HERE/image.sh
