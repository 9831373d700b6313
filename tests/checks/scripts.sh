# Runs checks that are scripts of their own.
. tests/lib.sh
check_build "scripts: build" all
check "scripts: perfetto" tests/checks/perfetto/run.sh
LIMIT=600 check "scripts: gpu" tests/gpu/run.sh # on a GPU it takes its time
