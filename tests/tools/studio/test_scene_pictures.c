/*
    test_scene_pictures.c - rows of traces that are too long to be loaded at
    once: drawn from pictures first, then from events
*/
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/tools/studio/scene_fixture.h"

#include "tests/replay/reader/sbt_forge_events.h"
#include "tests/replay/reader/sbt_sample.h"
#include "tools/studio/scene/parts.h"

enum { ZONES = 40000, PIXELS = 200, ZONE_NS = 100 };

static const scene_limits long_limits = { .events = 1000,
                                          .window = 20000,
                                          .whole = 1000,
                                          .at_once = 1000,
                                          .slice = 9000,
                                          .survey = 50000,
                                          .cells = SCENE_CELLS };
static const scene_limits tiny_limits = {
    .events = 10, .window = 20, .whole = 10, .at_once = 10, .slice = 10
};

// A zone each 100 ns, of two names by turns: of 30 ns in the first half, of
// 60 ns in the second.
static staged staged_long(void)
{
    staged t;
    made_begin(&t.m, 0);
    for (int64_t i = 0; i < ZONES; i++) {
        const int64_t from = i * ZONE_NS;
        const int64_t ns = i * 2 > ZONES ? 60 : 30;
        made_zone(&t.m, HOST, i % 2 ? "odd" : "even", from, from + ns);
    }
    made_read(&t.m);
    assert_int_equal(TS_OK, scene_open(&t.s, t.m.reader));
    t.s->limits = long_limits;
    return t;
}

static void draw(scene *s, canvas *c, uint32_t row, int64_t from_ns,
                 int64_t to_ns)
{
    canvas_draw(s, c, row, from_ns, to_ns, PIXELS);
    free(c->v.boxes);
}

// Pixels are near the truth, but for those within a cell of the step.
static void assert_shares(const canvas *c, int cell)
{
    for (int i = 0; i < PIXELS; i++) {
        if (abs(i - PIXELS / 2) <= cell || i > PIXELS - 4) continue;
        const int share = i < PIXELS / 2 ? 76 : 153;
        assert_in_range(c->busy[i], share - 8, share + 8);
        assert_int_not_equal(0, c->hue[i]);
    }
}

UNIT_TEST(a_view_of_too_many_events_is_drawn_from_pictures)
{
    staged t = staged_long();
    const uint32_t row = staged_row(&t, SCENE_ZONES, HOST, 0);
    canvas c;
    draw(t.s, &c, row, 0, ZONES * ZONE_NS);
    assert_true(c.v.coarse);
    assert_true(c.v.behind);
    staged_work(t.s);
    draw(t.s, &c, row, 0, ZONES * ZONE_NS);
    assert_true(c.v.coarse);
    assert_false(c.v.behind);
    assert_shares(&c, 3); // 16 cells of a chunk of 8,192 zones
    staged_close(&t);
}

UNIT_TEST(work_loads_a_window_in_slices)
{
    staged t = staged_long();
    const uint32_t row = staged_row(&t, SCENE_ZONES, HOST, 0);
    canvas c;
    draw(t.s, &c, row, 1000000, 1200000); // 2,000 zones
    assert_true(c.v.coarse && c.v.behind);
    staged_work(t.s);
    draw(t.s, &c, row, 1000000, 1200000);
    assert_false(c.v.coarse);
    for (int i = 0; i < PIXELS; i++) // ten zones a pixel
        assert_in_range(c.busy[i], 75, 77);
    staged_close(&t);
}

UNIT_TEST(a_narrow_window_is_loaded_at_once)
{
    staged t = staged_long();
    const uint32_t row = staged_row(&t, SCENE_ZONES, HOST, 0);
    canvas c;
    t.s->limits.at_once = 20000;
    draw(t.s, &c, row, 1000000, 1000000 + PIXELS * 10);
    assert_false(c.v.coarse);
    assert_int_equal(255, c.busy[0]);
    assert_int_equal(255, c.busy[2]);
    assert_int_equal(0, c.busy[3]);
    assert_int_equal(0, c.busy[9]);
    staged_close(&t);
}

UNIT_TEST(chunks_without_a_stored_picture_are_decoded_for_one)
{
    staged t = staged_long();
    const char *const path = t.m.path;
    ts_chunk_info last = { 0 }, chunk;
    for (size_t i = 0; ts_reader_chunk(t.m.reader, i, &chunk); i++)
        if (chunk.header.kind == TS_CHUNK_EVENTS) last = chunk;
    // Without the index and the end.
    const uint64_t end = last.offset + 64 + last.header.stored_size + 7;
    assert_int_equal(0, truncate(path, (off_t)(end / 8 * 8)));
    ts_reader *reader;
    const ts_reader_desc desc = { .path = path, .no_salvage = true };
    assert_int_equal(TS_OK, ts_reader_open(&reader, &desc));
    scene *s;
    assert_int_equal(TS_OK, scene_open(&s, reader));
    s->limits = long_limits;
    ts_reader_close(t.m.reader);
    scene_close(t.s);
    t.m.reader = reader;
    t.s = s;
    canvas c;
    const uint32_t row = staged_row(&t, SCENE_ZONES, HOST, 0);
    draw(t.s, &c, row, 0, ZONES * ZONE_NS);
    staged_work(t.s);
    draw(t.s, &c, row, 0, ZONES * ZONE_NS);
    assert_true(c.v.coarse);
    assert_shares(&c, 20); // two cells of a chunk
    staged_close(&t);
}

/* ---- Zones that last long ------------------------------------------------ */

static uint8_t hue_of(const staged *t, const char *name)
{
    for (uint32_t i = 0; i < scene_label_count(t->s); i++)
        if (!strcmp(staged_label(t, i), name))
            return scene_label_at(t->s, i)->hue;
    fail_msg("no label %s", name);
    return 0;
}

// Zones in two phases in one: an outer zone is recorded when it ends, behind
// all that it contains.
static staged staged_phases(void)
{
    enum { HALF = ZONES / 2 * ZONE_NS };
    staged t;
    made_begin(&t.m, 0);
    for (int64_t i = 0; i < ZONES; i++) {
        const int64_t ns = i * 2 < ZONES ? 10 : 80;
        made_zone(&t.m, HOST, "small", i * ZONE_NS + 5, i * ZONE_NS + 5 + ns);
        if (i == ZONES / 2 - 1) made_zone(&t.m, HOST, "phase one", 2, HALF - 1);
    }
    made_zone(&t.m, HOST, "phase two", HALF, ZONES * ZONE_NS - 1);
    made_zone(&t.m, HOST, "outermost", 0, ZONES * ZONE_NS);
    made_read(&t.m);
    assert_int_equal(TS_OK, scene_open(&t.s, t.m.reader));
    t.s->limits = long_limits;
    return t;
}

static void expect_outermost(const staged *t, int64_t from_ns, int64_t to_ns)
{
    const uint8_t hue = hue_of(t, "outermost");
    canvas c;
    draw(t->s, &c, staged_row(t, SCENE_ZONES, HOST, 0), from_ns, to_ns);
    assert_true(c.v.coarse);
    for (int i = 0; i < PIXELS; i++) {
        assert_in_range(c.busy[i], 253, 255);
        assert_int_equal(hue, c.hue[i]);
    }
}

UNIT_TEST(a_zone_around_all_others_covers_the_row_in_pictures)
{
    staged t = staged_phases();
    canvas c;
    draw(t.s, &c, staged_row(&t, SCENE_ZONES, HOST, 0), 0, ZONES * ZONE_NS);
    staged_work(t.s);
    assert_int_not_equal(hue_of(&t, "small"), hue_of(&t, "outermost"));
    expect_outermost(&t, 0, ZONES * ZONE_NS);
    t.s->limits = (scene_limits){ 0 }; // nothing is loaded
    expect_outermost(&t, 5 * ZONE_NS, ZONES / 4 * ZONE_NS);
    expect_outermost(&t, ZONES / 8 * 5 * ZONE_NS, ZONES / 8 * 7 * ZONE_NS);
    staged_close(&t);
}

UNIT_TEST(more_chunks_than_lanes_that_overlap_are_drawn_in_order)
{
    enum { NESTS = 30 };
    staged t;
    canvas c;
    made_begin(&t.m, 0);
    // Outer zones, each with 8,192 in its first half: each of their chunks
    // contains those before.
    int64_t at = NESTS * 1000000;
    for (int64_t i = 1; i <= NESTS; i++) {
        for (int k = 0; k < 8192; k++, at += 2)
            made_zone(&t.m, HOST, "small", at, at + 1);
        made_zone(&t.m, HOST, "outer", (NESTS - i) * 1000000, at++);
    }
    made_read(&t.m);
    assert_int_equal(TS_OK, scene_open(&t.s, t.m.reader));
    t.s->limits = long_limits;
    const uint32_t row = staged_row(&t, SCENE_ZONES, HOST, 0);
    draw(t.s, &c, row, 0, at);
    staged_work(t.s);
    draw(t.s, &c, row, 0, at);
    for (int i = 0; i < PIXELS - 1; i++)
        assert_in_range(c.busy[i], 250, 255);
    for (size_t i = 0; i < t.s->rows[row].source_count; i++) {
        const scene_source *const source = &t.s->rows[row].sources[i];
        for (size_t k = 2; k < source->levels[0].count; k += 2)
            assert_true(source->levels[0].cells[k - 2].start_ns <=
                        source->levels[0].cells[k].start_ns);
    }
    assert_in_range(t.s->rows[row].source_count, 1, 16);
    staged_close(&t);
}

/* ---- Names --------------------------------------------------------------- */

UNIT_TEST(a_search_finds_what_is_not_loaded)
{
    staged t = staged_long();
    const ts_text odd = { "odd", 3 };
    bool matches[16];
    uint64_t count;
    int64_t total_ns;
    assert_false(scene_names_want(t.s));
    staged_work(t.s);
    assert_true(scene_names_want(t.s));
    assert_int_equal(1, scene_search(t.s, odd, matches));
    for (uint32_t i = 0; i < scene_label_count(t.s); i++) {
        if (!matches[i]) continue;
        scene_names_sum(t.s, i, &count, &total_ns);
        assert_int_equal(ZONES / 2, count);
        assert_int_equal(ZONES / 4 * (30 + 60), total_ns);
    }
    uint32_t row = 0;
    scene_item item;
    for (int64_t i = ZONES / 2 + 1; i < ZONES / 2 + 9; i += 2) {
        const int64_t before_ns = i * ZONE_NS - 150;
        assert_true(
            scene_seek(t.s, matches, false, before_ns, row, &row, &item));
        assert_int_equal(i * ZONE_NS, item.start_ns);
        assert_int_equal(staged_row(&t, SCENE_ZONES, HOST, 0), row);
    }
    assert_true(scene_seek(t.s, matches, true, 777000, 0, &row, &item));
    assert_int_equal(776900, item.start_ns);
    assert_true(scene_seek(t.s, matches, false, -1, 0, &row, &item));
    assert_int_equal(100, item.start_ns);
    assert_false(scene_seek(t.s, matches, true, 100, 0, &row, &item));
    assert_false(
        scene_seek(t.s, matches, false, ZONES * ZONE_NS, 0, &row, &item));
    staged_close(&t);
}

static void add_span(staged *t, uint32_t thread, const char *name, uint64_t id,
                     int64_t time, uint64_t phase)
{
    const ts_site_entry entry = { .name = made_name(&t->m, name) };
    const ts_writer_value values[] = {
        { TS_COLUMN_SITE,
          phase == TS_PHASE_START ? ts_writer_site(t->m.w, &entry) : 0 },
        { TS_COLUMN_ID, id },
        { TS_COLUMN_PHASE, phase },
    };
    ts_writer_event(t->m.w, TS_EVENT_SPAN, thread, time, 0, values, 3);
}

static void add_frame(staged *t, const char *name, int64_t time)
{
    const ts_site_entry entry = { .name = made_name(&t->m, name) };
    const ts_writer_value value = { TS_COLUMN_SITE,
                                    ts_writer_site(t->m.w, &entry) };
    ts_writer_event(t->m.w, TS_EVENT_FRAME, HOST, time, 0, &value, 1);
}

// What is searched by and what is drawn: the same names, numbers and times.
UNIT_TEST(a_search_counts_what_is_drawn)
{
    staged t;
    made_begin(&t.m, 0);
    for (int i = 0; i < 20; i++) {
        add_span(&t, HOST, "request", (uint64_t)i, 100 * i, TS_PHASE_START);
        add_span(&t, OTHER, "", (uint64_t)i, 100 * i + 250, TS_PHASE_END);
        add_frame(&t, "frame", 100 * i);
        made_zone(&t.m, HOST, "x", 100 * i, 100 * i + 7);
    }
    staged_open(&t);
    scene *other;
    assert_int_equal(TS_OK, scene_open(&other, t.m.reader));
    other->limits = tiny_limits;
    assert_false(scene_names_want(other));
    staged_work(other);
    assert_true(scene_names_known(other));
    size_t names = 0;
    for (uint32_t i = 0; i < scene_label_count(t.s); i++) {
        const scene_label *const l = scene_label_at(t.s, i);
        uint64_t drawn, found;
        int64_t drawn_ns, found_ns;
        scene_names_sum(t.s, i, &drawn, &drawn_ns);
        if (!drawn) continue; // ends of spans
        names++;
        scene_names_sum(other, scene_label_of(other, l->kind, l->id), &found,
                        &found_ns);
        assert_int_equal(20, drawn);
        assert_int_equal(drawn, found);
        assert_int_equal(drawn_ns, found_ns);
    }
    assert_int_equal(3, names);
    bool matches[8];
    assert_int_equal(3, scene_search(other, (ts_text){ "", 0 }, matches));
    scene_close(other);
    staged_close(&t);
}

// Names whose numbers have the same rest are listed once for each chunk.
UNIT_TEST(names_are_listed_once_for_each_chunk)
{
    enum { TURNS = 3000 };
    staged t;
    made_begin(&t.m, 0);
    staged_zones(&t, 1025);
    for (int i = 0; i < TURNS; i++)
        made_zone(&t.m, HOST, i % 2 ? "zone 0" : "zone 1024", 20000 + 10 * i,
                  20005 + 10 * i);
    made_read(&t.m);
    assert_int_equal(TS_OK, scene_open(&t.s, t.m.reader));
    t.s->limits = tiny_limits;
    assert_false(scene_names_want(t.s));
    staged_work(t.s);
    assert_true(t.s->names.label_count <= 1025 * t.s->chunk_count);
    staged_close(&t);
}

// Without memory for all of them, names are those of what is loaded.
UNIT_TEST(names_that_could_not_be_counted_are_not_called_known)
{
    staged t = staged_long();
    uint64_t count;
    int64_t total_ns, seen = 0;
    bool matches[16];
    uint32_t row;
    scene_item item;
    t.s->limits.slice = 2000;
    assert_false(scene_names_want(t.s));
    while (!t.s->names.next)
        scene_work(t.s);
    t.s->names.failed = true;
    staged_work(t.s);
    assert_true(scene_names_want(t.s)); // nothing is left to do
    assert_false(scene_names_known(t.s));
    assert_true(scene_load(t.s, 0, 10 * ZONE_NS));
    for (uint32_t i = 0; i < scene_label_count(t.s); i++) {
        scene_names_sum(t.s, i, &count, &total_ns);
        assert_int_equal(scene_label_at(t.s, i)->count, count);
        seen += (int64_t)count;
    }
    assert_in_range(seen, 10, ZONES - 1);
    assert_int_equal(1, scene_search(t.s, (ts_text){ "odd", 3 }, matches));
    assert_false(
        scene_seek(t.s, matches, false, ZONES * ZONE_NS / 2, 0, &row, &item));
    staged_close(&t);
}

/* ---- Streams that share chunks ------------------------------------------- */

enum { STREAM = 100, KERNELS = 40000 };

// A kernel each 100 ns, on the streams by turns; each stream is busy for 30 %.
static staged staged_streams_times(uint32_t streams, int times)
{
    static uint32_t tracks[KERNELS];
    static int64_t starts[KERNELS], durations[KERNELS];
    staged t;
    made_begin(&t.m, 0);
    for (uint32_t i = 0; i < streams; i++) {
        const ts_track_entry entry = { .type = TS_TRACK_STREAM,
                                       .parent = D0,
                                       .number = STREAM + i };
        ts_writer_track(t.m.w, STREAM + i, &entry);
    }
    for (uint32_t i = 0; i < KERNELS; i++) {
        tracks[i] = STREAM + i % streams;
        starts[i] = i * ZONE_NS;
        durations[i] = streams * ZONE_NS * 3 / 10;
    }
    const ts_rows rows = { .kind = TS_EVENT_KERNEL,
                           .count = KERNELS,
                           .tracks = tracks,
                           .start_ns = starts,
                           .duration_ns = durations };
    for (int k = 0; k < times; k++) {
        ts_writer_rows(t.m.w, &rows);
        for (uint32_t i = 0; i < KERNELS; i++)
            starts[i] += KERNELS * ZONE_NS;
    }
    made_read(&t.m);
    assert_int_equal(TS_OK, scene_open(&t.s, t.m.reader));
    t.s->limits = long_limits;
    return t;
}

static staged staged_streams(uint32_t streams)
{
    return staged_streams_times(streams, 1);
}

static void expect_streams(uint32_t streams, bool stored)
{
    staged t = staged_streams(streams);
    const uint32_t row = staged_row(&t, SCENE_WORK, STREAM + streams / 2, 0);
    ts_track_pictures pictures = { 0 };
    size_t pictured = 0;
    canvas c;
    for (size_t i = 0; i < ts_reader_chunk_count(t.m.reader); i++)
        pictured += ts_reader_track_pictures(t.m.reader, i, &pictures) == TS_OK;
    ts_track_pictures_close(t.m.reader, &pictures);
    assert_int_equal(stored, pictured > 0);
    draw(t.s, &c, row, 0, KERNELS * ZONE_NS);
    assert_true(c.v.behind);
    assert_int_equal(255, c.hue[100]); // grey: somebody works there
    staged_work(t.s);
    draw(t.s, &c, row, 0, KERNELS * ZONE_NS);
    assert_true(c.v.coarse);
    assert_false(c.v.behind);
    for (int i = 2; i < PIXELS - 4; i++) {
        assert_in_range(c.busy[i], 66, 86);
        assert_int_not_equal(255, c.hue[i]);
    }
    staged_close(&t);
}

UNIT_TEST(a_stream_that_shares_chunks_is_drawn_from_their_pictures)
{
    expect_streams(2, true);
}

UNIT_TEST(many_streams_that_share_chunks_are_drawn_from_their_operations)
{
    expect_streams(200, false);
}

/* ---- A trace that grows -------------------------------------------------- */

typedef struct growing {
    char folder[32], path[64], sidecar[128];
    pid_t writer;
    uint8_t *bytes; // of the whole trace
    size_t size;
} growing;

static void read_whole(growing *g, const char *path)
{
    FILE *const f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(0, fseek(f, 0, SEEK_END));
    g->size = (size_t)ftell(f);
    g->bytes = malloc(g->size);
    rewind(f);
    assert_int_equal(g->size, fread(g->bytes, 1, g->size, f));
    fclose(f);
}

// A process holds the sidecar, as long as it lives: the trace is being written.
static void hold_sidecar(growing *g, const uint8_t session[16])
{
    int ready[2];
    char byte = 0;
    int at =
        snprintf(g->sidecar, sizeof g->sidecar, "%s/tracesmith-", g->folder);
    for (int i = 0; i < 16; i++, at += 2)
        snprintf(g->sidecar + at, 3, "%02x", session[i]);
    strcat(g->sidecar, ".ring");
    assert_int_equal(0, pipe(ready));
    g->writer = fork();
    if (!g->writer) {
        struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
        const int fd = open(g->sidecar, O_RDWR | O_CREAT, 0600);
        if (fd < 0 || fcntl(fd, F_SETLK, &lock)) _exit(1);
        if (write(ready[1], &byte, 1) != 1) _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(1, read(ready[0], &byte, 1));
    close(ready[0]);
    close(ready[1]);
}

static void grow(const growing *g, size_t from, size_t to)
{
    const int fd = open(g->path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    assert_true(fd >= 0);
    assert_int_equal(to - from, write(fd, g->bytes + from, to - from));
    close(fd);
}

static growing growing_open(const made *m)
{
    growing g = { .folder = "/tmp/scene_grows_XXXXXX" };
    assert_non_null(mkdtemp(g.folder));
    snprintf(g.path, sizeof g.path, "%s/live.sbt", g.folder);
    read_whole(&g, m->path);
    hold_sidecar(&g, ts_reader_info(m->reader)->session);
    return g;
}

static void growing_close(growing *g)
{
    kill(g->writer, SIGKILL);
    waitpid(g->writer, NULL, 0);
    free(g->bytes);
    unlink(g->path);
    unlink(g->sidecar);
    assert_int_equal(0, rmdir(g->folder));
}

static size_t shared_cells(const scene *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->row_count; i++)
        for (size_t k = 0; k < s->rows[i].source_count; k++)
            if (s->rows[i].sources[k].shared)
                count += s->rows[i].sources[k].levels[0].count;
    return count;
}

// Counts what all streams hold, however much that is.
static uint64_t count_all(scene *s)
{
    scene_area_sums area;
    size_t count = 0;
    uint32_t *const rows = malloc(scene_row_count(s) * sizeof *rows);
    assert_non_null(rows);
    for (uint32_t i = 0; i < scene_row_count(s); i++)
        if (scene_row_at(s, i)->type == SCENE_WORK) rows[count++] = i;
    for (bool behind = true; behind; behind = area.share.behind) {
        assert_int_equal(TS_OK,
                         scene_area(s, rows, count, 0, SCENE_FAR, 10, &area));
        free(area.sums);
    }
    free(rows);
    assert_int_equal(area.share.events, area.share.counted);
    return area.boxes;
}

// The trace becomes 40 times as long while it is watched: as many cells serve,
// and they still show what is there.
UNIT_TEST(cells_of_streams_get_wider_as_a_live_trace_grows)
{
    enum { CELLS = 300 };
    staged t = staged_streams_times(200, 40);
    growing g = growing_open(&t.m);
    ts_chunk_info chunk;
    ts_reader *reader;
    scene *s = NULL;
    size_t written = 0, most = 0, refreshes = 0;
    uint64_t kernels = 0;
    for (size_t i = 0; ts_reader_chunk(t.m.reader, i, &chunk); i++) {
        if (chunk.header.kind != TS_CHUNK_EVENTS) continue;
        const uint64_t end = chunk.offset + 64 + chunk.header.stored_size;
        grow(&g, written, (size_t)(end + 7) / 8 * 8);
        written = (size_t)(end + 7) / 8 * 8;
        if (!s) {
            const ts_reader_desc desc = { .path = g.path, .no_salvage = true };
            assert_int_equal(TS_OK, ts_reader_open(&reader, &desc));
            assert_int_equal(TS_OK, scene_open(&s, reader));
            assert_true(ts_reader_info(reader)->live);
        } else {
            assert_true(scene_refresh(s));
            refreshes++;
        }
        s->limits = long_limits;
        s->limits.cells = CELLS;
        s->table_wanted = true;
        staged_work(s);
        assert_int_equal(shared_cells(s), s->stream_cells);
        kernels += chunk.header.count;
        if (refreshes % 16 == 0) assert_int_equal(kernels, count_all(s));
        if (s->stream_cells > most) most = s->stream_cells;
    }
    assert_true(refreshes > 30);
    assert_in_range(most, 200, 2 * CELLS);
    canvas c;
    staged shown = { .s = s };
    draw(s, &c, staged_row(&shown, SCENE_WORK, STREAM + 7, 0), 0,
         40 * (int64_t)KERNELS * ZONE_NS);
    for (int i = 2; i < PIXELS - 10; i++)
        assert_in_range(c.busy[i], 60, 90);
    scene_close(s);
    ts_reader_close(reader);
    growing_close(&g);
    staged_close(&t);
}

/* ---- The top of the index ------------------------------------------------ */

UNIT_TEST(a_trace_opens_with_the_rows_of_its_top)
{
    forge f;
    sample_forge_with(&f, true);
    const ts_reader_desc desc = {
        .bytes = f.bytes, .size = f.size, .threads = 1, .lazy = true
    };
    ts_reader *reader;
    staged t;
    canvas c;
    assert_int_equal(TS_OK, ts_reader_open(&reader, &desc));
    assert_int_equal(TS_OK, scene_open(&t.s, reader));
    t.s->limits.events = 0;
    t.s->table_wanted = false;
    const uint32_t row = staged_row(&t, SCENE_ZONES, 2, 0);
    // Cells of 10 ns: as wide as 2 of 200 pixels.
    draw(t.s, &c, row, 0, 1000);
    assert_true(c.v.coarse);
    assert_false(c.v.behind);
    assert_false(t.s->table_read);
    assert_int_equal(255, c.busy[7]); // the cell from 30 to 40
    // Wider cells would show: the index is read.
    draw(t.s, &c, row, 0, 100);
    assert_true(c.v.behind);
    staged_work(t.s);
    assert_true(t.s->table_read);
    scene_close(t.s);
    ts_reader_close(reader);
    forge_close(&f);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
