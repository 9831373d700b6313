# Lets every call of libc that a recording session makes fail, one after
# another, once and from then on: the program continues, and the ledger is
# exact.
#   FAULT_ALL=1 tests/run.sh fault    every single call; else some are left out
. tests/lib.sh
check_build "fault: build" build/libtracesmith.a
folder=build/tests/checks/fault
mkdir -p $folder
flags="-std=c11 -O1 -g -I. -Wall -Wextra -Wpedantic -Wconversion -Wshadow
    -Werror"
check "fault: programs" sh -c '
    set -e
    for program in session faults; do
        make -s $0/$program
    done
    ${CC:-cc} $1 -fPIC -shared $HERE/fault.c -o $0/fault.so -ldl
    ' $folder "$flags"
check "fault: each call" sh -c '
    where=$(mktemp -d)
    trap "rm -rf $where" EXIT
    stride=7
    test -z "${FAULT_ALL:-}" || stride=1
    $0/faults --stride $stride $0/session $0/fault.so $where
    ' $PWD/$folder
