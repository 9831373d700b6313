/*
    main.c - times the lines of line.c, or runs one of them to be counted

    line [--quick] [--dir DIR] KEY TEXT      rows KEY.loop and KEY.own
    line --count yard|loop|own|marks N DIR   N of them, and ends
    line --off loop|own|marks N DIR          the same while nothing is recorded
*/
#include "bench/bench.h"

#include "bench/line/line.h"

enum { TURN = 8000 };

static line_ring ring;

static void yard(uint64_t count)
{
    line_yard(&ring, count);
}

static void loop(uint64_t count)
{
    line_loop(&ring, count);
}

static void own(uint64_t count)
{
    line_own(&ring, count);
}

static void marks(uint64_t count)
{
    line_marks(&ring, count);
}

static void start(void)
{
    const ts_session_desc desc = { .path = bench_path("line.sbt"),
                                   .sidecar_dir = bench.dir,
                                   .drain = TS_DRAIN_MANUAL };
    bench_need(ts_session_start(&desc), "start");
}

static void flush(void)
{
    ts_session_flush();
}

static int count(char **argv)
{
    static const struct {
        const char *name;
        void (*body)(uint64_t count);
    } lines[] = {
        { "yard", yard }, { "loop", loop }, { "own", own }, { "marks", marks }
    };
    bench.dir = argv[4];
    if (!strcmp(argv[1], "--count")) start();
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (!strcmp(lines[i].name, argv[2]))
            lines[i].body(strtoull(argv[3], NULL, 10));
    _exit(0); // writing the trace is not counted
}

static void row(const char *key, const char *text, const char *where,
                const bench_body *body, double limit)
{
    char name[64], what[96];
    snprintf(name, sizeof name, "%s.%s", key, where);
    snprintf(what, sizeof what, "%s, %s", text,
             strcmp(where, "own") ? "in a loop" : "a function");
    const bench_row line = { .key = name,
                             .what = what,
                             .figure = body->ns,
                             .unit = "ns",
                             .limit = limit,
                             .yardstick = "two ticks + 16 B store",
                             .rule = BENCH_RATIO_MAX,
                             .budget = 1.08 };
    bench_print(&line);
}

int main(int argc, char **argv)
{
    const size_t size = 1 << 20;
    ring.mask = size / sizeof *ring.slots - 1;
    ring.slots = aligned_alloc(64, size);
    if (!ring.slots) return 1;
    memset(ring.slots, 1, size);
    if (argc == 5 && (!strcmp(argv[1], "--count") || !strcmp(argv[1], "--off")))
        return count(argv);
    if (argc < 3) return 2;
    bench_parse(argc - 2, argv);
    bench_body bodies[] = { { yard, NULL, 0 },
                            { loop, flush, 0 },
                            { own, flush, 0 } };
    start();
    bench_alternate(bodies, 3, TURN, bench.quick ? 100 : 300);
    bench_need(ts_session_stop(), "stop");
    row(argv[argc - 2], argv[argc - 1], "loop", &bodies[1], bodies[0].ns);
    row(argv[argc - 2], argv[argc - 1], "own", &bodies[2], bodies[0].ns);
    free(ring.slots);
    return 0;
}
