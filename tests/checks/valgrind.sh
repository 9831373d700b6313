# Runs a representative part of the test programs under valgrind, which detects
# uninitialised reads; the sanitizers do not.
. tests/lib.sh
programs="record/test_session record/test_zone record/test_events
    record/test_gpu_record record/test_cxx backends/vdev/test_vdev
    replay/reader/test_reader replay/graph/test_replay"
check_build "valgrind: build" CC=gcc CXX=g++ CFLAGS="-O2 -g1 -Werror" \
    $(printf 'build/tests/%s ' $programs)
for program in $programs; do
    check_later "valgrind: ${program##*/}" valgrind -q --error-exitcode=99 \
        --leak-check=full --errors-for-leak-kinds=definite \
        --child-silent-after-fork=yes "build/tests/$program"
done
