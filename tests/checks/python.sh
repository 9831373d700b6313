# The Python package: a wheel is built without a network and works alone in a
# new environment, and its tests pass.
. tests/lib.sh
folder=$PWD/build/python
rm -rf "$folder"
mkdir -p "$folder"
python=/usr/bin/python3
test -x $python || python=python3
# What Debian calls python3-dev, -pip, -wheel, -setuptools and -pytest.
if ! $python -c '
import os, sys, sysconfig
assert sys.version_info >= (3, 8), "its Python is older than 3.8"
import setuptools, pip, pytest, wheel
os.stat(os.path.join(sysconfig.get_path("include"), "Python.h"))' \
    2>"$folder/missing"; then
    check "python" sh -c 'echo "not all that its build and tests need is" \
        "here: $(tail -n 1 "$0")"; exit 77' "$folder/missing"
    exit 0
fi
check_build "python: build" build/libtracesmith.so \
    build/libtracesmith-tools.a build/tests/doubles/libcupti.so
check "python: a wheel" sh -ec '
    cd python
    CFLAGS=-O1 MAX_JOBS=1 $1 setup.py -q egg_info --egg-base "$0" \
        build --build-base "$0/base" bdist_wheel -d "$0" >"$0/wheel.log" 2>&1 ||
        { cat "$0/wheel.log"; exit 1; }
    $1 -m venv --without-pip "$0/venv"
    $1 -m pip --quiet --disable-pip-version-check \
        --python "$0/venv/bin/python" install --no-index "$0"/*.whl' \
    "$folder" $python
check "python: alone in a new environment" sh -ec '
    cd "$0" && "$0/venv/bin/python" "$1/python/tests/consumer.py"' \
    "$folder" "$PWD"
site=$(echo "$folder"/venv/lib/python3*/site-packages)
for file in python/tests/test_*.py; do
    # 5: nothing was run, as a whole file is skipped without its module.
    check_later "python: $(basename "$file" .py)" env PYTHONPATH="$site" \
        PYTHONDONTWRITEBYTECODE=1 sh -c '"$@" || {
            status=$?
            test $status != 5 || status=77
            exit $status
        }' sh $python -m pytest -q -rs -p no:cacheprovider \
        --basetemp="$folder/$(basename "$file" .py)" "$file"
done
wait
check "python: each of 1,500,000 zones is recorded" \
    env PYTHONPATH="$site" $python python/tests/cost.py "$folder/cost.sbt"
