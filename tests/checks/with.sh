# Records with doubles of vendors' tools: ts-record runs them, keeps status and
# signals, imports what they wrote and leaves nothing behind; ts-import has nsys
# export its reports.
. tests/lib.sh
folder=$PWD/build/with
rm -rf $folder
mkdir -p $folder/bin
check_build "with: build" all
for tool in nsys rocprofv3 xctrace mcTracer msprof; do
    printf '#!/bin/sh\nexec node %s/%s/doubles.js %s "$@"\n' "$PWD" "$HERE" \
        $tool >$folder/bin/$tool
    chmod +x $folder/bin/$tool
done
if ! command -v node >/dev/null || ! command -v sqlite3 >/dev/null; then
    check "with: doubles" sh -c 'echo "no node or no sqlite3"; exit 77'
    exit
fi
for case in nsys rocprofv3 xctrace mctracer msprof several words status \
    signal killed nothing absent cut keep names usage report version; do
    check_later "with: $case" $HERE/cases.sh $folder $case
done
