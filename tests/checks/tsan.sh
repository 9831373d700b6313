# The test programs under ThreadSanitizer.
. tests/lib.sh
flags="-O0 -g1 -fsanitize=thread"
# What is too big is refused, as the C library does it.
export TSAN_OPTIONS=second_deadlock_stack=1:allocator_may_return_null=1
# test_fork, test_clone: the sanitizer supports no threads in a forked child.
# test_reader_damage: one thread that reads 100,000 broken traces: minutes
# here, and nothing to see.
# test_signal: gcc 12's sanitizer itself faults, in the clocks of a thread that
# ends while a signal is under way.
# test_surroundings: it closes descriptors that the recorder writes to, which
# is a race because it is meant to be one.
# test_unwind: at exit other memory is mapped under threads that still record,
# on purpose.
# test_reader_golden: as test_reader_damage.
# test_own_pages: as test_fork.
# test_steps: as test_fork, and it stops after each instruction.
# test_modules: the programs that it compiles are not instrumented.
# test_hip_code: one thread, in libraries that are not instrumented.
# What tools do beside loading and writing runs on one thread: the importers
# but for the one of JSON (test_import_flow), what-ifs, comparisons, pictures,
# questions but for the summary, queries, cuts, merges, and the replay itself.
WITHOUT="test_fork test_clone test_hip_code test_modules test_reader_damage
    test_own_pages test_reader_golden test_signal test_steps test_surroundings
    test_unwind test_verify test_explore test_export_dot test_view
    test_view_trace test_races test_races_host test_report test_names
    test_merge test_cut test_cut_steps test_anonymise
    test_cli test_import_* test_analyze_* test_diff* test_query*
    test_replay_* test_whatif* test_timeline*"
NEVERTHELESS="test_import_flow test_analyze_summary test_replay_files"
programs=$(test_programs | sed 's,^,build/tsan/,')
check_build "tsan: build" OUT=build/tsan CC=gcc CXX=g++ CFLAGS="$flags" \
    $programs
check_programs tsan build/tsan
