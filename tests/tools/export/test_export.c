// What ts-export writes, read back: every event of the trace with its exact
// times, nothing else, and well formed.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "tests/unit.h"
#include <unistd.h>
#include "tests/tools/export/export_read.h"
#include "tests/replay/reader/sbt_sample.h"
#include "tools/export/export.h"

/* ---- Exporting ---------------------------------------------------------- */

static char path[] = "/tmp/test_export.XXXXXX";
static expected_text exported;
static export_counts counts;

static void slurp(void)
{
    FILE *const file = fopen(path, "rb");
    char part[4096];
    size_t size;
    assert_non_null(file);
    exported.size = 0;
    expected_add(&exported, "", 0);
    while ((size = fread(part, 1, sizeof part, file)) > 0)
        expected_add(&exported, part, size);
    fclose(file);
}

static ts_reader *open_bytes(const forge *f)
{
    ts_reader *reader;
    const ts_reader_desc desc = { .bytes = f->bytes, .size = f->size };
    assert_int_equal(TS_OK, ts_reader_open(&reader, &desc));
    return reader;
}

static ts_result export_with(ts_reader *reader, const export_format *format,
                             export_packing packing,
                             const export_options *options)
{
    const char *why;
    const ts_output output = { .path = path };
    export_out *const out = export_out_open(&output, packing, &why);
    assert_non_null(out);
    const ts_result result = export_walk(reader, format, out, options, &counts);
    assert_int_equal(0, export_out_close(out, true));
    slurp();
    return result;
}

static void export_all(ts_reader *reader, const export_format *format,
                       export_packing packing)
{
    const export_options options = { 0 };
    assert_int_equal(TS_OK, export_with(reader, format, packing, &options));
}

static void read_exported(read_trace *r)
{
    read_open(r, (const uint8_t *)exported.text, exported.size);
    if (r->wrong) fail_msg("%s", r->wrong);
}

/* ---- Comparing ---------------------------------------------------------- */

static int by_all(const void *a, const void *b)
{
    const expected_item *const x = a, *const y = b;
    if (x->type != y->type) return x->type < y->type ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    if (x->duration_ns != y->duration_ns)
        return x->duration_ns < y->duration_ns ? -1 : 1;
    const int name = strcmp(x->name.text, y->name.text);
    if (name || x->type == 'S')
        return name ? name : strcmp(x->category.text, y->category.text);
    return strcmp(x->args.text, y->args.text);
}

// Arguments are compared by tests/checks/perfetto, values of samples here.
static void assert_same_items(expected *expected_items, expected *found)
{
    size_t arrows = 0, at = 0;
    for (size_t i = 0; i < expected_items->item_count; i++)
        arrows += expected_items->items[i].type == 'F';
    assert_int_equal(counts.arrows, arrows);
    assert_int_equal(expected_items->item_count, found->item_count + arrows);
    if (!expected_items->item_count) return;
    qsort(expected_items->items, expected_items->item_count,
          sizeof *expected_items->items, by_all);
    if (found->item_count)
        qsort(found->items, found->item_count, sizeof *found->items, by_all);
    for (size_t i = 0; i < expected_items->item_count; i++) {
        if (expected_items->items[i].type == 'F') continue;
        const expected_item *const w = &expected_items->items[i];
        const expected_item *const f = &found->items[at++];
        assert_int_equal(w->type, f->type);
        assert_string_equal(w->name.text, f->name.text);
        assert_string_equal(w->category.text, f->category.text);
        assert_int_equal(w->start_ns, f->start_ns);
        assert_int_equal(w->duration_ns, f->duration_ns);
        if (w->type == 'C') assert_string_equal(w->args.text, f->args.text);
    }
}

// Both formats, packed and not, against the columns of the trace.
static void check_everything(const forge *f)
{
    ts_reader *const reader = open_bytes(f);
    const export_packing packings[] = { EXPORT_PLAIN, EXPORT_PACKETS };
    for (int i = 0; i < 2; i++) {
        read_trace r;
        expected e;
        export_all(reader, &export_perfetto, packings[i]);
        read_exported(&r);
        expected_open(&e, reader);
        assert_same_items(&e, &r.items);
        expected_close(&e);
        read_close(&r);
    }
    export_all(reader, &export_chrome, EXPORT_PLAIN);
    assert_true(json_is_valid(exported.text));
    ts_reader_close(reader);
}

/* ---- Traces ------------------------------------------------------------- */

// A thread (track 2) and sites 1 ("alpha") and 2 ("beta").
static void begin_trace(forge *f)
{
    forge_open(f, SAMPLE_START);
    forge_sample(f, 0, 3, SAMPLE_START, 0, 0);
    sample_dictionaries(f);
}

UNIT_TEST(an_export_holds_every_event_of_the_trace)
{
    forge f;
    sample_forge(&f);
    check_everything(&f);
    forge_close(&f);
}

UNIT_TEST(a_trace_without_events_is_exported)
{
    forge f;
    begin_trace(&f);
    check_everything(&f);
    forge_close(&f);
}

UNIT_TEST(slices_that_overlap_go_to_lanes_of_their_own)
{
    enum { COUNT = 300 };
    forge_zone zones[COUNT];
    for (uint64_t i = 0; i < COUNT; i++)
        zones[i] = (forge_zone){ 2000 + i, 5000 + i, 1 + i % 2 };
    forge f;
    begin_trace(&f);
    forge_zones(&f, 2, FORGE_PACK, zones, COUNT);
    check_everything(&f);
    assert_true(counts.lanes >= COUNT);
    forge_close(&f);
}

// Times from one after another to years apart, back to back and not.
UNIT_TEST(kernels_keep_their_times_whatever_their_size)
{
    enum { COUNT = 400 };
    static uint64_t starts[COUNT], durations[COUNT], launches[COUNT];
    uint64_t at = SAMPLE_START + 100, end = at;
    for (uint32_t i = 0; i < COUNT; i++) {
        starts[i] = at;
        durations[i] = UINT64_C(1) << i % 17 * (i % 50 ? 1 : 3);
        launches[i] = 1;
        end = at + durations[i];
        at = end + (i % 3 ? UINT64_C(1) << i % 23 : 0);
        if (i == COUNT / 2) at += UINT64_C(1) << 60;
    }
    forge f;
    begin_trace(&f);
    forge_events(&f, TS_EVENT_KERNEL, 3, COUNT, starts[0], end);
    forge_column(&f, TS_COLUMN_START, FORGE_PACK, FORGE_DELTA, starts);
    forge_column(&f, TS_COLUMN_DURATION, FORGE_PACK, FORGE_PLAIN, durations);
    forge_column(&f, TS_COLUMN_LAUNCH, FORGE_PACK, FORGE_PLAIN, launches);
    forge_column(&f, TS_COLUMN_CORRELATION, FORGE_PACK, FORGE_PLAIN, starts);
    forge_events_end(&f);
    check_everything(&f);
    forge_close(&f);
}

// Lanes are prefetched by the tracks of later rows: those that the trace
// defines, those that it does not, and those too large for an array.
UNIT_TEST(kernels_of_many_tracks_in_one_chunk_keep_their_tracks)
{
    enum { COUNT = 600 };
    static const uint64_t tracks[] = { 3, 4095, 4096, 70000, 900, 0xFFFFFFF0 };
    static uint64_t starts[COUNT], durations[COUNT], launches[COUNT];
    static uint64_t on[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        starts[i] = SAMPLE_START + 100 + i * UINT64_C(10);
        durations[i] = 1 + i % 90;
        launches[i] = 1;
        on[i] = tracks[i * 7 / 3 % 6];
    }
    forge f;
    begin_trace(&f);
    forge_events(&f, TS_EVENT_KERNEL, TS_TRACK_MIXED, COUNT, starts[0],
                 starts[COUNT - 1] + 100);
    forge_column(&f, TS_COLUMN_TRACK, FORGE_PACK, FORGE_PLAIN, on);
    forge_column(&f, TS_COLUMN_START, FORGE_PACK, FORGE_DELTA, starts);
    forge_column(&f, TS_COLUMN_DURATION, FORGE_PACK, FORGE_PLAIN, durations);
    forge_column(&f, TS_COLUMN_LAUNCH, FORGE_PACK, FORGE_PLAIN, launches);
    forge_events_end(&f);
    check_everything(&f);
    forge_close(&f);
}

static void forge_calls(forge *f, uint8_t kind, uint32_t track, uint32_t count,
                        uint64_t at, const uint64_t *correlations)
{
    uint64_t starts[2] = { at, at + 10 }, durations[2] = { 5, 5 };
    forge_events(f, kind, track, count, at, at + 15);
    forge_column(f, TS_COLUMN_START, FORGE_PACK, FORGE_DELTA, starts);
    forge_column(f, TS_COLUMN_DURATION, FORGE_PACK, FORGE_PLAIN, durations);
    forge_column(f, TS_COLUMN_CORRELATION, FORGE_PACK, FORGE_PLAIN,
                 correlations);
    forge_events_end(f);
}

// Call 7 launches a kernel, and an event behind it is for a wait; call 8
// records an event itself.
UNIT_TEST(no_arrow_leads_to_the_record_of_a_wait)
{
    static const uint64_t calls[] = { 7, 8 };
    forge f;
    begin_trace(&f);
    forge_calls(&f, TS_EVENT_API_CALL, 2, 2, SAMPLE_START + 10, calls);
    forge_calls(&f, TS_EVENT_KERNEL, 3, 1, SAMPLE_START + 30, calls);
    forge_calls(&f, TS_EVENT_EVENT_RECORD, 3, 2, SAMPLE_START + 35, calls);
    ts_reader *const reader = open_bytes(&f);
    const export_format *const formats[] = { &export_perfetto, &export_chrome };
    for (int i = 0; i < 2; i++) {
        export_all(reader, formats[i], EXPORT_PLAIN);
        assert_int_equal(2, counts.arrows);
    }
    ts_reader_close(reader);
    forge_close(&f);
}

// At most so many zones are open at once.
static size_t most_at_once(const forge_zone *zones, size_t count)
{
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        size_t open = 0;
        for (size_t k = 0; k < count; k++)
            open += zones[k].start <= zones[i].start &&
                    zones[k].end > zones[i].start;
        if (open > most) most = open;
    }
    return most;
}

// However long each of them takes.
UNIT_TEST(lanes_are_used_again)
{
    enum { COUNT = 2000, AT_ONCE = 200, OTHER_ROWS = 20 };
    static forge_zone zones[COUNT];
    for (uint64_t least = 1; least <= AT_ONCE; least += AT_ONCE - 1) {
        for (uint64_t i = 0; i < COUNT; i++) {
            const uint64_t end = 9000 + i * 10;
            const uint64_t more = i * 7919 % (2 * (AT_ONCE - least) + 1);
            zones[i] = (forge_zone){ end - (least + more) * 10, end, 1 };
        }
        forge f;
        begin_trace(&f);
        forge_zones(&f, 2, FORGE_PACK, zones, COUNT);
        check_everything(&f);
        const size_t most = most_at_once(zones, COUNT);
        assert_true(most > AT_ONCE * 2 / 3);
        assert_true(counts.lanes <= most + OTHER_ROWS);
        forge_close(&f);
    }
}

UNIT_TEST(nesting_deeper_than_viewers_allow_is_kept)
{
    enum { COUNT = 1700 };
    static forge_zone zones[COUNT];
    for (uint64_t i = 0; i < COUNT; i++)
        zones[i] = (forge_zone){ 10000 - i, 20000 + i, 1 };
    forge f;
    begin_trace(&f);
    forge_zones(&f, 2, FORGE_PACK, zones, COUNT);
    check_everything(&f);
    forge_close(&f);
}

UNIT_TEST(zones_without_a_duration_keep_their_times)
{
    const forge_zone zones[] = { { 2000, 2000, 1 }, { 2000, 2000, 2 },
                                 { 2000, 2000, 1 }, { 2000, 2005, 2 },
                                 { 2005, 2005, 1 }, { 2005, 2009, 2 },
                                 { 1990, 2009, 1 } };
    forge f;
    begin_trace(&f);
    forge_zones(&f, 2, FORGE_PLANES, zones, sizeof zones / sizeof *zones);
    check_everything(&f);
    forge_close(&f);
}

UNIT_TEST(times_before_the_start_are_shifted)
{
    const forge_zone zones[] = { { SAMPLE_START - 500, SAMPLE_START + 9, 1 } };
    forge f;
    begin_trace(&f);
    forge_zones(&f, 2, FORGE_PLANES, zones, 1);
    ts_reader *const reader = open_bytes(&f);
    export_all(reader, &export_perfetto, EXPORT_PLAIN);
    read_trace r;
    read_exported(&r);
    assert_int_equal(1, r.items.item_count);
    assert_int_equal(0, r.items.items[0].start_ns);
    assert_int_equal(509, r.items.items[0].duration_ns);
    read_close(&r);
    ts_reader_close(reader);
    forge_close(&f);
}

UNIT_TEST(a_range_leaves_out_what_does_not_touch_it)
{
    const forge_zone zones[] = { { 2000, 2100, 1 },
                                 { 2150, 2250, 2 },
                                 { 2300, 2400, 1 } };
    forge f;
    begin_trace(&f);
    forge_zones(&f, 2, FORGE_PLANES, zones, 3);
    ts_reader *const reader = open_bytes(&f);
    const export_options options = { .from_ns = 2200 - SAMPLE_START,
                                     .to_ns = 2210 - SAMPLE_START };
    assert_int_equal(
        TS_OK, export_with(reader, &export_perfetto, EXPORT_PLAIN, &options));
    read_trace r;
    read_exported(&r);
    assert_int_equal(1, r.items.item_count);
    assert_string_equal("beta", r.items.items[0].name.text);
    assert_int_equal(100, r.items.items[0].duration_ns);
    read_close(&r);
    ts_reader_close(reader);
    forge_close(&f);
}

UNIT_TEST(the_same_trace_gives_the_same_bytes)
{
    forge f;
    sample_forge(&f);
    for (int i = 0; i < 3; i++) {
        expected_text first = { 0 };
        const export_format *const format =
            i < 2 ? &export_perfetto : &export_chrome;
        for (int run = 0; run < 2; run++) {
            ts_reader *const reader = open_bytes(&f);
            export_all(reader, format, i ? format->packing : EXPORT_PLAIN);
            ts_reader_close(reader);
            if (run) assert_int_equal(first.size, exported.size);
            if (run) assert_memory_equal(first.text, exported.text, first.size);
            if (!run) expected_add(&first, exported.text, exported.size);
        }
        free(first.text);
    }
    forge_close(&f);
}

static size_t times_found(const char *text)
{
    const size_t size = strlen(text);
    size_t count = 0;
    for (size_t i = 0; i + size <= exported.size; i++)
        count += !memcmp(exported.text + i, text, size);
    return count;
}

// A zone whose site has no colour is written as the bytes of its site.
UNIT_TEST(each_zone_keeps_the_colour_of_its_site)
{
    enum { COUNT = 90 };
    forge_zone zones[COUNT];
    for (uint64_t i = 0; i < COUNT; i++)
        zones[i] = (forge_zone){ 2000 + i * 3, 2001 + i * 3, 1 + (i % 3 > 0) };
    forge f;
    begin_trace(&f);
    forge_zones(&f, 2, FORGE_PACK, zones, COUNT);
    check_everything(&f);
    ts_reader *const reader = open_bytes(&f);
    export_all(reader, &export_perfetto, EXPORT_PLAIN);
    assert_int_equal(COUNT / 3, times_found("#FF8000"));
    const export_options bare = { .no_args = true };
    assert_int_equal(
        TS_OK, export_with(reader, &export_perfetto, EXPORT_PLAIN, &bare));
    assert_int_equal(0, times_found("#FF8000"));
    ts_reader_close(reader);
    forge_close(&f);
}

// The budget of the design, with times that no compressor can guess.
UNIT_TEST(a_slice_takes_at_most_twenty_bytes)
{
    enum { COUNT = 40000 };
    static forge_zone zones[COUNT];
    uint64_t x = 1, now = 2000;
    for (int i = 0; i < COUNT; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
        zones[i].start = now + (x >> 50);
        zones[i].end = zones[i].start + (x >> 30 & 0xFFFFF);
        zones[i].site = 1 + (x >> 60 & 1);
        now = zones[i].end;
    }
    forge f;
    begin_trace(&f);
    forge_zones(&f, 2, FORGE_PACK, zones, COUNT);
    ts_reader *const reader = open_bytes(&f);
    export_all(reader, &export_perfetto, EXPORT_PACKETS);
    assert_int_equal(COUNT, counts.slices);
    assert_in_range(exported.size, COUNT * 4, COUNT * 20);
    ts_reader_close(reader);
    forge_close(&f);
}

// Whatever their order in the file; each has a cause of its own.
UNIT_TEST(losses_keep_their_times)
{
    static const uint64_t losses[][2] = { { 3000, 3300 },
                                          { 2000, 2400 },
                                          { 2000, 3500 },
                                          { 2600, 2700 },
                                          { 2000, 2400 } };
    forge f;
    begin_trace(&f);
    forge_begin(&f, FORGE_LOSS);
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        const uint64_t loss[] = { 1 + i, 0, 5, losses[i][0], losses[i][1], 0 };
        forge_numbers(&f, 2, 2, 6, loss);
    }
    forge_end(&f);
    check_everything(&f);
    forge_close(&f);
}

UNIT_TEST(damage_is_reported_and_shown)
{
    const forge_zone zones[] = { { 2000, 2100, 1 } };
    forge f;
    begin_trace(&f);
    forge_zones(&f, 2, FORGE_PLANES, zones, 1);
    const size_t broken = forge_zones(&f, 2, FORGE_PLANES, zones, 1);
    f.bytes[broken + 70] ^= 1;
    ts_reader *const reader = open_bytes(&f);
    const export_options options = { 0 };
    export_with(reader, &export_perfetto, EXPORT_PLAIN, &options);
    assert_true(ts_reader_damage_count(reader) > 0);
    read_trace r;
    size_t zones_found = 0, damage_found = 0;
    read_exported(&r);
    for (size_t i = 0; i < r.items.item_count; i++) {
        zones_found += !strcmp(r.items.items[i].name.text, "alpha");
        damage_found += !strcmp(r.items.items[i].name.text, "damage");
    }
    assert_int_equal(1, zones_found);
    assert_int_equal(ts_reader_damage_count(reader), damage_found);
    read_close(&r);
    ts_reader_close(reader);
    forge_close(&f);
}

// Changes a few bytes of chunks and makes their checksums right again.
static void twist(forge *f, uint64_t *x)
{
    for (uint64_t i = 0; i < 1 + (*x >> 62); i++) {
        *x = *x * UINT64_C(6364136223846793005) + 1442695040888963407;
        const size_t chunk = (*x >> 33) % f->chunk_count;
        const size_t begin = f->chunks[chunk];
        const size_t end =
            chunk + 1 < f->chunk_count ? f->chunks[chunk + 1] : f->index;
        *x = *x * UINT64_C(6364136223846793005) + 1442695040888963407;
        f->bytes[begin + 8 + (*x >> 33) % (end - begin - 8)] ^=
            (uint8_t)(1u << (*x >> 30 & 7));
        if (begin + 64 + forge_get(f->bytes + begin + 40, 4) <= f->size)
            forge_seal(f->bytes, begin);
    }
}

UNIT_TEST(what_comes_of_a_twisted_trace_is_well_formed)
{
    uint64_t x = 5;
    for (int i = 0; i < 150; i++) {
        const export_options options = { 0 };
        read_trace r;
        forge f;
        sample_forge(&f);
        twist(&f, &x);
        ts_reader *const reader = open_bytes(&f);
        export_with(reader, &export_perfetto, EXPORT_PLAIN, &options);
        read_exported(&r);
        read_close(&r);
        export_with(reader, &export_chrome, EXPORT_PLAIN, &options);
        assert_true(json_is_valid(exported.text));
        ts_reader_close(reader);
        forge_close(&f);
    }
}

int main(void)
{
    const int file = mkstemp(path);
    if (file < 0) return 1;
    close(file);
    const int failed = unit_run(NULL, NULL);
    unlink(path);
    free(exported.text);
    return failed;
}
