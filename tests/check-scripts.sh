# Checks that bring a script of their own: tests/*/run.sh, but for the soak
# test, which takes half an hour.
. tests/lib.sh
check_build "scripts: build" all
for script in tests/*/run.sh; do
    test -e "$script" || continue
    name=${script#tests/}
    name=${name%/run.sh}
    test "$name" != soak || continue
    LIMIT=600 check "scripts: $name" "$script" # on a GPU it takes its time
done
