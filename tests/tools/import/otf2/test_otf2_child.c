/*
    test_otf2_child.c - what becomes of an archive if its child crashes

    A double of the child writes the records.
*/
#include "tests/tools/import/import_fixture.h"
#include "tools/import/otf2/otf2.h"

#ifdef TRACESMITH_OTF2

enum { PLACES = 20 };

static const char *behaviour; // of each location: '.', 'c'rash, 'h'ang, 'b'ad

static void put(FILE *out, otf2_record r, const char *text)
{
    r.size = text ? (uint32_t)strlen(text) : 0;
    fwrite(&r, sizeof r, 1, out);
    if (text) fwrite(text, 1, r.size, out);
}

static void define(FILE *out)
{
    put(out, (otf2_record){ .kind = OTF2_CLOCK, .v = { 1000000000 } }, NULL);
    put(out, (otf2_record){ .kind = OTF2_STRING, .v = { 1 } }, "work");
    put(out, (otf2_record){ .kind = OTF2_REGION, .v = { 0, 1 } }, NULL);
    for (uint64_t i = 0; i < PLACES; i++)
        put(out, (otf2_record){ .kind = OTF2_PLACE, .v = { i } }, NULL);
}

static void put_zone(FILE *out, uint64_t i)
{
    put(out, (otf2_record){ .kind = OTF2_AT, .v = { i, i } }, NULL);
    put(out, (otf2_record){ .kind = OTF2_ENTER, .time = 10 }, NULL);
    put(out, (otf2_record){ .kind = OTF2_LEAVE, .time = 20 }, NULL);
    fflush(out);
}

// In place of the one of the importer.
void otf2_read_archive(FILE *out, void *user)
{
    const otf2_task *const task = user;
    const otf2_record bad = { .kind = OTF2_KINDS };
    if (!task->first) define(out);
    for (size_t i = task->first; behaviour[i]; i++) {
        put_zone(out, i);
        if (behaviour[i] == 'c') abort();
        if (behaviour[i] == 'b') put(out, bad, NULL);
        if (behaviour[i] == 'h') fflush(out);
        while (behaviour[i] == 'h')
            pause();
    }
}

static void expect(const char *places, uint64_t zones, uint64_t faults)
{
    behaviour = places;
    imported i = import_into("tests/tools/import/otf2/odd/traces.otf2",
                             fixture_path(1, "o"));
    assert_int_equal(zones, i.job->events[TS_EVENT_ZONE]);
    assert_int_equal(faults, import_tallied(&i.job->bad, "unreadable_rest"));
    assert_int_equal(faults > 0, i.job->is_cut);
    assert_int_equal(faults > 0, i.job->lacks_files);
    import_done(&i);
}

UNIT_TEST(a_crash_loses_no_other_location)
{
    expect("...", 3, 0);
    expect(".c.", 3, 1);
    expect("c.cc", 4, 3);
}

UNIT_TEST(after_many_crashes_the_rest_is_lost)
{
    expect("cccccccccccccccccc..", 16, 16);
}

UNIT_TEST(records_that_no_child_writes_are_not_the_end)
{
    expect(".b..", 4, 1);
}

UNIT_TEST(a_child_that_hangs_is_not_started_again)
{
    import_child_silence_ms = 200;
    expect(".h..", 2, 1);
    import_child_silence_ms = 30000;
}
#else
UNIT_TEST(without_its_library_no_child_is_started)
{
    skip();
}
#endif

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}
