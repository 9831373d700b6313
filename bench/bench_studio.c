/*
    bench_studio.c - what Studio's scene costs on big traces, natively

        bench_studio [--quick] [--dir DIR] [--bin DIR]  # rows of `make bench`
        bench_studio FILE ...                           # a line for each trace

    Needs zones.sbt, streams.sbt and big.sbt, made by gen_trace, in the
    directory for files. A frame is a question for a view of at most 60 rows of
    1,920 pixels, and its answer. The tour zooms from the whole trace to a
    microsecond, pans there, and zooms out again. After each frame the scene
    does what it is behind with, in slices, as when a user stops.
*/
#include "bench/bench.h" // first: it asks for GNU interfaces
#include <fcntl.h>
#include "tools/studio/scene/wire.h"

enum { PIXELS = 1920, ROWS = 60, STEPS = 120, PANS = 120 };

typedef struct subject {
    int file;
    uint64_t read_bytes;
    ts_reader *reader;
    scene *s;
    uint32_t rows[ROWS];
    uint32_t row_count;
    double frames[4 * STEPS + PANS];
    size_t frame_count;
    double slice_ms; // the longest slice of work
} subject;

static int64_t read_counted(void *user, uint64_t offset, void *to, size_t size)
{
    subject *const u = user;
    const ssize_t got = pread(u->file, to, size, (off_t)offset);
    if (got > 0) u->read_bytes += (uint64_t)got;
    return got;
}

static void subject_open(subject *u, const char *path)
{
    memset(u, 0, sizeof *u);
    u->file = open(path, O_RDONLY);
    const ts_reader_desc desc = { .read = read_counted,
                                  .size = bench_file_bytes(path),
                                  .user = u,
                                  .threads = 1,
                                  .lazy = true };
    bench_need(u->file < 0 ? TS_ERR_IO : TS_OK, path);
    bench_need(ts_reader_open(&u->reader, &desc), path);
    bench_need(scene_open(&u->s, u->reader), path);
}

static void subject_close(subject *u)
{
    scene_close(u->s);
    ts_reader_close(u->reader);
    close(u->file);
}

/* ==== 1. Questions ======================================================= */

typedef struct question {
    uint8_t bytes[64 + 4 * ROWS];
    size_t size;
} question;

static void put(question *q, uint64_t value, size_t size)
{
    memcpy(q->bytes + q->size, &value, size);
    q->size += size;
}

static question question_of(scene_question type)
{
    question q = { .size = 0 };
    put(&q, 0x515354 | SCENE_WIRE_VERSION << 24, 4);
    put(&q, type, 4);
    return q;
}

// Returns the size of the answer.
static size_t ask(subject *u, const question *q, uint8_t **answer)
{
    size_t size;
    int32_t result = TS_ERR_MEMORY;
    scene_answer(u->s, q->bytes, q->size, answer, &size);
    if (*answer) memcpy(&result, *answer + 8, sizeof result);
    bench_need((ts_result)result, "a question");
    return size;
}

static void ask_only(subject *u, const question *q)
{
    uint8_t *answer;
    ask(u, q, &answer);
    free(answer);
}

// Returns the CPU time of a frame in milliseconds.
static double frame(subject *u, int64_t from_ns, int64_t to_ns)
{
    question q = question_of(SCENE_ASK_VIEW);
    put(&q, (uint64_t)from_ns, 8);
    put(&q, (uint64_t)to_ns, 8);
    put(&q, PIXELS, 4);
    put(&q, u->row_count, 4);
    for (uint32_t i = 0; i < u->row_count; i++)
        put(&q, u->rows[i], 4);
    const double begin = bench_process_ns();
    ask_only(u, &q);
    return (bench_process_ns() - begin) / 1e6;
}

// Lets the scene do what it is behind with.
static void work(subject *u)
{
    const question q = question_of(SCENE_ASK_WORK);
    for (bool more = true; more;) {
        uint8_t *answer;
        const double begin = bench_process_ns();
        ask(u, &q, &answer);
        const double ms = (bench_process_ns() - begin) / 1e6;
        if (ms > u->slice_ms) u->slice_ms = ms;
        more = answer[13];
        free(answer);
    }
}

static void choose_rows(subject *u)
{
    const scene_row *row;
    u->row_count = 0;
    for (uint32_t i = 0; (row = scene_row_at(u->s, i)); i++)
        if (u->row_count < ROWS) u->rows[u->row_count++] = i;
}

/* ==== 2. What is measured ================================================ */

typedef struct figures {
    double first_ms, first_mb;          // from the open to the first view
    double names_ms, search_ms;         // the first search, and the next one
    double median_ms, high_ms, most_ms; // of frames; high: of 99 in 100
    double slice_ms;        // the longest slice of work between frames
    double area_ms, ask_ms; // all of it by name: in all, the longest request
    double index_mb;        // read in all
} figures;

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void tour_frame(subject *u, double middle, double span)
{
    const double ms =
        frame(u, (int64_t)(middle - span / 2), (int64_t)(middle + span / 2));
    u->frames[u->frame_count++] = ms;
    work(u);
}

static void tour(subject *u)
{
    const ts_info *const info = ts_reader_info(u->reader);
    const double whole = (double)(info->last_ns - info->first_ns);
    const double middle = (double)info->first_ns + whole * 0.37;
    const double factor = pow(1000 / whole, 1.0 / STEPS);
    for (int i = 0; i < STEPS; i++) // from all of it to a microsecond
        tour_frame(u, middle, whole * pow(factor, i));
    for (int i = 0; i < PANS; i++) // a tenth of a screen at a time
        tour_frame(u, middle + whole * 1e-4 * i, whole * 1e-3);
    for (int i = STEPS; i-- > 0;)
        tour_frame(u, middle, whole * pow(factor, i));
}

static double search(subject *u, const char *text)
{
    question q = question_of(SCENE_ASK_SEARCH);
    put(&q, strlen(text), 4);
    memcpy(q.bytes + q.size, text, strlen(text));
    q.size += strlen(text);
    const double begin = bench_process_ns();
    ask_only(u, &q);
    return (bench_process_ns() - begin) / 1e6;
}

// Asks for the names of an area with all there is until all is counted.
static void survey(subject *u, const ts_info *info, figures *f)
{
    question q = question_of(SCENE_ASK_AREA);
    put(&q, (uint64_t)info->first_ns, 8);
    put(&q, (uint64_t)info->last_ns + 1, 8);
    put(&q, u->row_count, 4);
    for (uint32_t i = 0; i < u->row_count; i++)
        put(&q, u->rows[i], 4);
    for (bool behind = true; behind;) {
        uint8_t *answer;
        const double begin = bench_process_ns();
        ask(u, &q, &answer);
        const double ms = (bench_process_ns() - begin) / 1e6;
        f->area_ms += ms;
        if (ms > f->ask_ms) f->ask_ms = ms;
        behind = answer[28];
        free(answer);
    }
}

static figures measure(const char *path, const char *name)
{
    static subject u;
    figures f = { 0 };
    const double begin = bench_process_ns();
    subject_open(&u, path);
    const ts_info *const info = ts_reader_info(u.reader);
    const question about = question_of(SCENE_ASK_INFO);
    const question rows = question_of(SCENE_ASK_ROWS);
    ask_only(&u, &about);
    ask_only(&u, &rows);
    choose_rows(&u);
    frame(&u, info->first_ns, info->last_ns);
    f.first_ms = (bench_process_ns() - begin) / 1e6;
    f.first_mb = (double)u.read_bytes / 1e6;
    tour(&u);
    qsort(u.frames, u.frame_count, sizeof *u.frames, by_value);
    f.median_ms = u.frames[u.frame_count / 2];
    f.high_ms = u.frames[u.frame_count * 99 / 100];
    f.most_ms = u.frames[u.frame_count - 1];
    f.slice_ms = u.slice_ms;
    const double searched = bench_process_ns();
    search(&u, name);
    work(&u);
    f.names_ms = (bench_process_ns() - searched) / 1e6;
    f.search_ms = search(&u, name);
    f.index_mb = (double)u.read_bytes / 1e6;
    survey(&u, info, &f);
    subject_close(&u);
    return f;
}

static void print_files(char **paths, int count)
{
    printf("%-28s %9s %9s %9s %9s %9s %9s %9s %9s %9s %9s %9s\n", "trace",
           "first ms", "first MB", "names ms", "search", "frame", "99 %",
           "most", "slice", "read MB", "area ms", "ask ms");
    for (int i = 0; i < count; i++) {
        const figures f = measure(paths[i], "kernel");
        printf("%-28s %9.1f %9.2f %9.0f %9.2f %9.2f %9.2f %9.2f %9.2f %9.1f "
               "%9.0f %9.2f\n",
               paths[i], f.first_ms, f.first_mb, f.names_ms, f.search_ms,
               f.median_ms, f.high_ms, f.most_ms, f.slice_ms, f.index_mb,
               f.area_ms, f.ask_ms);
    }
}

static void print_row(const char *key, const char *name, const char *what,
                      double figure, const char *unit, double budget)
{
    char full[64], text[96];
    snprintf(full, sizeof full, "studio.%s.%s", key, name);
    snprintf(text, sizeof text, "%s: %s", name, what);
    const bench_row row = { .key = full,
                            .what = text,
                            .figure = figure,
                            .unit = unit,
                            .rule = budget > 0 ? BENCH_FIGURE_MAX : BENCH_INFO,
                            .budget = budget };
    bench_print(&row);
}

// The least of a few tours: other programs only ever add.
static void print_trace(const char *name, const char *file)
{
    enum { TOURS = 3 };
    figures best = { 0 };
    for (int i = 0; i < TOURS; i++) {
        const figures f = measure(bench_path(file), "kernel");
        if (!i || f.first_ms < best.first_ms) best.first_ms = f.first_ms;
        if (!i || f.high_ms < best.high_ms) best.high_ms = f.high_ms;
        if (!i || f.slice_ms < best.slice_ms) best.slice_ms = f.slice_ms;
        if (!i || f.search_ms < best.search_ms) best.search_ms = f.search_ms;
        if (!i || f.area_ms < best.area_ms) best.area_ms = f.area_ms;
        if (!i || f.ask_ms < best.ask_ms) best.ask_ms = f.ask_ms;
        best.first_mb = f.first_mb;
    }
    print_row("first", name, "open, first picture", best.first_ms, "ms", 300);
    print_row("read", name, "read for it", best.first_mb, "MB", 2);
    print_row("frame", name, "query of a frame, 99 of 100", best.high_ms, "ms",
              4);
    print_row("search", name, "search, after the first", best.search_ms, "ms",
              100);
    print_row("area", name, "names of all of it", best.area_ms, "ms", 0);
    print_row("ask", name, "the longest request for them", best.ask_ms, "ms",
              0);
    print_row("slice", name, "longest slice between frames", best.slice_ms,
              "ms", 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && argv[1][0] != '-') {
        print_files(argv + 1, argc - 1);
        return 0;
    }
    bench_parse(argc, argv);
    print_trace("zones", "zones.sbt");
    print_trace("streams", "streams.sbt");
    print_trace("big", "big.sbt");
    return 0;
}
