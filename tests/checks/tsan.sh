# Runs the test programs under ThreadSanitizer.
. tests/lib.sh
flags="-O0 -g1 -fsanitize=thread"
# What is too big is refused, as the C library does it.
export TSAN_OPTIONS=second_deadlock_stack=1:allocator_may_return_null=1
# Left out:
# test_fork, test_clone, test_page_size, test_signal_steps: the sanitizer
#   supports no threads in a forked child.
# test_reader_damage, test_reader_golden: one thread that reads 150,000 broken
#   traces.
# test_signal: gcc 12's sanitizer itself faults in the clocks of a thread that
#   ends while it handles a signal.
# test_host_program: it closes descriptors that the recorder writes to, a race
#   on purpose.
# test_zone_unwind: at exit other memory is mapped under threads that still
#   record, on purpose.
# test_modules, test_hip_code: programs and libraries that are not instrumented.
# Apart from loading and writing (test_writer_threads), tools run on one thread:
# the importers except that of JSON (test_import_threads), what-ifs,
# comparisons, pictures, the analysis except the summary, queries, cuts, merges,
# the replay itself, and the answers of ts-mcp (test_mcp_protocol has its
# threads).
WITHOUT="test_fork test_clone test_page_size test_signal test_signal_steps
    test_reader_damage test_reader_golden test_host_program test_zone_unwind
    test_modules test_hip_code test_verify test_races test_races_* test_report
    test_view test_view_trace test_function_names test_merge test_cut
    test_cut_steps test_anonymise test_cli test_export_dot test_import_*
    test_analyze_* test_diff* test_query* test_replay_* test_whatif*
    test_timeline* test_mcp_answers"
NEVERTHELESS="test_import_threads test_analyze_summary test_replay_files"
programs=$(test_programs | sed 's,^,build/tsan/,')
check_build "tsan: build" OUT=build/tsan CC=gcc CXX=g++ CFLAGS="$flags" \
    $programs
check_programs tsan build/tsan
