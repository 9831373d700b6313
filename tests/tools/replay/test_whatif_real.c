/*
    test_whatif_real.c - every --what-if on every trace of a real program

    Nobody knows what these programs would have done. But some things hold
    whatever they are: what changes nothing changes nothing, less of something
    is never slower, more never faster, all operations run, and the parts of
    the critical path add up to the makespan.
*/
#include "tests/tools/import/import_fixture.h"
#include "tools/import/import.h"
#include "tools/replay/whatif/whatif.h"

#if defined TRACESMITH_YAJL && defined TRACESMITH_SQLITE

enum { RANKS = 8 };

typedef enum effect {
    NOTHING, // the same schedule
    LESS,    // no slower
    MORE,    // no faster
    ANY,     // it runs, and says what binds it
} effect;

static const struct {
    const char *text;
    effect effect;
} changes[] = {
    { "scale .=1", NOTHING },
    { "scale kernel~.=0.5", LESS },
    { "scale kernel~.=2", MORE },
    { "scale collective~.=0", LESS },
    { "remove .", LESS },
    { "remove memcpy~.", LESS },
    { "remove collective~.", LESS },
    { "remove no such operation", NOTHING },
    { "insert pause=20us after kernel~.", MORE },
    { "fuse .", LESS },
    { "copy all=1", NOTHING },
    { "copy all=0.5", LESS },
    { "copy h2d,d2h bw=0.5", MORE },
    { "copy d2d bw=2,lat=0us", ANY },
    { "network 1", NOTHING },
    { "network 0.5", LESS },
    { "network bw=0.5", MORE },
    { "copy-engines 1", MORE },
    { "copy-engines 1000", ANY },
    { "streams collective~.=7", ANY },
    { "serialise", MORE },
    { "no-launch-overhead", LESS },
    { "host 1", NOTHING },
    { "host 0.5", LESS },
    { "host 2", MORE },
    { "host 0", LESS },
    { "straggler rank=0:1", NOTHING },
    { "straggler rank=0:2", MORE },
    { "ideal-overlap", LESS },
};
enum { CHANGES = sizeof changes / sizeof *changes };

static bool has_rank(ts_reader *reader, int64_t rank)
{
    ts_metadata found;
    return ts_reader_metadata(reader, 0, "rank", &found) &&
           found.type == TS_VALUE_INT && found.number == rank;
}

static bool has_stream(ts_reader *reader, uint64_t number)
{
    ts_track track;
    for (size_t i = 0; ts_reader_track_at(reader, i, &track); i++)
        if (track.type == TS_TRACK_STREAM && track.number == number)
            return true;
    return false;
}

// What a trace has no stream or rank for is refused, and that is right.
static bool is_possible(const char *text, ts_reader **readers, uint32_t count)
{
    const bool rank = strncmp(text, "straggler", 9) == 0;
    const bool stream = strncmp(text, "streams", 7) == 0;
    for (uint32_t i = 0; i < count; i++)
        if (rank ? has_rank(readers[i], 0)
                 : !stream || has_stream(readers[i], 7))
            return true;
    return false;
}

static int64_t sum(const whatif_figures *f)
{
    int64_t ns = 0;
    for (uint32_t i = 0; i < TS_COST_LIMIT; i++)
        ns += f->cost_ns[i];
    return ns;
}

static void check_figures(const whatif_figures *base, const whatif_figures *f,
                          effect wanted)
{
    if (f->text)
        print_message("  %-34s %" PRId64 " ns, %+" PRId64 "\n", f->text,
                      f->makespan_ns, f->change_ns);
    assert_int_equal(0, f->never_ran);
    assert_int_equal(f->makespan_ns, sum(f));
    assert_int_equal(f->makespan_ns - base->makespan_ns, f->change_ns);
    switch (wanted) {
    case NOTHING:
        assert_int_equal(base->makespan_ns, f->makespan_ns);
        assert_int_equal(base->digest, f->digest);
        break;
    case LESS: assert_true(f->change_ns <= 0); break;
    case MORE: assert_true(f->change_ns >= 0); break;
    case ANY: break;
    }
}

static void check_all(ts_reader **readers, uint32_t count)
{
    const ts_replay_desc desc = { .more = readers + 1,
                                  .more_count = count - 1 };
    whatif list[CHANGES];
    effect effects[CHANGES];
    size_t used = 0;
    ts_replay *replay;
    whatif_report report;
    for (size_t i = 0; i < CHANGES; i++) {
        if (!is_possible(changes[i].text, readers, count)) continue;
        assert_true(whatif_read(&fixture_tool, changes[i].text, &list[used]));
        effects[used++] = changes[i].effect;
    }
    assert_int_equal(TS_OK, ts_replay_open(&replay, readers[0], &desc));
    assert_int_equal(TS_OK, whatif_run(replay, list, used, &report));
    const whatif_figures *const base = &report.figures[0];
    assert_true(base->makespan_ns > 0);
    for (size_t i = 0; i < used; i++)
        check_figures(base, &report.figures[i + 1], effects[i]);
    whatif_report_close(&report);
    ts_replay_close(replay);
    for (size_t i = 0; i < used; i++)
        whatif_close(&list[i]);
}

// All sources of the file, jointly.
static void check(const char *name)
{
    const char *const path = fixture_data(name);
    import_input *const input = import_input_open(&fixture_tool, path);
    ts_reader *readers[RANKS];
    uint32_t count = 0;
    import_source *source;
    while ((source = import_input_next(input))) {
        char output[64];
        ts_result result;
        snprintf(output, sizeof output, "rank%" PRIu32 ".sbt", count);
        const char *const to = fixture_path(3, output);
        const import_format *const *format = import_formats;
        while (*format && !(*format)->recognise(source))
            format++;
        assert_non_null(*format);
        import_job *const job =
            import_job_open(&fixture_tool, source, *format, to, &result);
        assert_non_null(job);
        assert_true((*format)->import(job));
        assert_int_equal(TS_OK, import_job_end(job, true));
        import_job_close(job);
        assert_true(count < RANKS);
        const ts_reader_desc desc = { .path = to, .threads = 1 };
        assert_int_equal(TS_OK, ts_reader_open(&readers[count++], &desc));
    }
    assert_int_equal(0, import_input_close(input));
    print_message("%s\n", name);
    check_all(readers, count);
    for (uint32_t i = 0; i < count; i++)
        ts_reader_close(readers[i]);
}

#define TRACE(function, name) \
    UNIT_TEST(function) \
    { \
        check(name); \
    }
TRACE(what_ifs_of_alexnet_are_plausible, "kineto/alexnet.json.gz")
TRACE(what_ifs_of_dependent_launches_are_plausible,
      "kineto/b200_eager_pdl.json.gz")
TRACE(what_ifs_of_eight_ranks_are_plausible, "kineto/dlrm_8ranks_v100.tar.gz")
TRACE(what_ifs_of_events_and_syncs_are_plausible,
      "kineto/event_sync_multi_stream.json.gz")
TRACE(what_ifs_of_inference_are_plausible, "kineto/h100_owlv2.json.gz")
TRACE(what_ifs_of_a_simple_addition_are_plausible, "kineto/simple_add.json.gz")
TRACE(what_ifs_of_many_waits_are_plausible, "kineto/v100_nccl_22k_ops.json.gz")
TRACE(what_ifs_of_two_gpus_are_plausible, "nsys/h100_2gpu_1s.sqlite")
TRACE(what_ifs_of_graph_launches_are_plausible, "rocm/mytrace.rpd.gz")
TRACE(what_ifs_of_a_task_graph_are_plausible,
      "chakra/feeder_tests_trace.tar.gz")

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}

#else
#include "tests/tools/import/built_without.h"
BUILT_WITHOUT("yajl or SQLite")

#endif
