/*
    One small trace for each kind of event, made with a clock of our own.

    tests/golden/NAME.sbt was written once, and reading it must always give
    NAME.txt. What the recorder writes today must read the same. UPDATE=1 writes
    those that are missing; delete a pair to have it written anew, which only
    a new version of the format justifies.
*/
#define _GNU_SOURCE
#include <stdint.h>

static uint64_t tick_now;
#define TRACESMITH_TICK() (tick_now)
#define TRACESMITH_IMPLEMENTATION
#define TRACESMITH_SALVAGE // the reader in the library uses it
#include "tests/record/trace_dump.h"
#include "tests/record/golden_record.h"

// In a child, so that its dictionaries are empty.
static void record_golden(void *user)
{
    const golden *const g = user;
    tick_now = 1000000;
    const ts_session_desc desc = { .path = rt_path("golden.sbt"),
                                   .app = "golden",
                                   .drain = TS_DRAIN_MANUAL };
    RT_CHECK(ts_session_start(&desc) == TS_OK);
    TS_THREAD_NAME("golden");
    if (g->devices) define_devices();
    pass(100);
    g->record();
    pass(100);
    RT_CHECK(ts_session_stop() == TS_OK);
}

static char *read_file(const char *path, size_t *size)
{
    FILE *const file = fopen(path, "rb");
    if (!file) fail_msg("%s is missing", path);
    char *const bytes = malloc(1 << 20);
    if (!bytes) abort();
    *size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

static void write_file(const char *path, const char *bytes, size_t size)
{
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static char *dump_of(const char *path, size_t *size)
{
    char *text = NULL;
    FILE *const out = open_memstream(&text, size);
    assert_non_null(out);
    rt_trace trace = rt_open(path);
    rt_dump(out, &trace);
    rt_close(&trace);
    fclose(out);
    return text;
}

/* ---- Written anew ------------------------------------------------------- */

// Names that depend on the machine become dashes.
static bool is_of_machine(const rt_trace *trace, const uint8_t *text,
                          size_t size)
{
    static const char *const keys[] = { "host", "command", "os", "cpu",
                                        "boot_id" };
    ts_metadata m;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (ts_reader_metadata(trace->reader, 0, keys[i], &m) &&
            m.text.size == size && !memcmp(m.text.text, text, size))
            return true;
    return false;
}

static void clean_names(const rt_trace *trace, uint8_t *chunk)
{
    ts_chunk_header header;
    memcpy(&header, chunk, sizeof header);
    uint8_t *const payload = chunk + sizeof header;
    for (size_t at = 0; at + 8 <= header.stored_size;) {
        uint32_t size;
        memcpy(&size, payload + at + 4, 4);
        if (is_of_machine(trace, payload + at + 8, size))
            memset(payload + at + 8, '-', size);
        at += 8 + size;
    }
    const uint64_t checksum = XXH3_64bits_withSeed(payload, header.stored_size,
                                                   XXH3_64bits(chunk, 56));
    memcpy(chunk + 56, &checksum, 8);
}

static void clean_and_write(const char *from, const char *to)
{
    size_t size;
    char *const bytes = read_file(from, &size);
    rt_trace trace = rt_open(from);
    ts_chunk_info info;
    for (size_t i = 0; ts_reader_chunk(trace.reader, i, &info); i++)
        if (info.header.kind == TS_CHUNK_NAMES)
            clean_names(&trace, (uint8_t *)bytes + info.offset);
    rt_close(&trace);
    write_file(to, bytes, size);
    free(bytes);
}

static void update(const golden *g, const char *trace, const char *words)
{
    if (!access(trace, F_OK)) return;
    size_t size;
    rt_in_child(record_golden, (void *)(uintptr_t)g);
    clean_and_write(rt_path("golden.sbt"), trace);
    char *const text = dump_of(trace, &size);
    write_file(words, text, size);
    free(text);
}

/* ---- Tests -------------------------------------------------------------- */

static void compare(const char *path, const char *words)
{
    size_t size, expected_size;
    char *const expected = read_file(words, &expected_size);
    char *const text = dump_of(path, &size);
    if (size != expected_size || memcmp(text, expected, size))
        fail_msg("%s differs from %s:\n%s", path, words, text);
    free(expected);
    free(text);
}

static void paths_of(const golden *g, char trace[64], char words[64])
{
    snprintf(trace, 64, "tests/golden/%s.sbt", g->name);
    snprintf(words, 64, "tests/golden/%s.txt", g->name);
}

UNIT_TEST(every_golden_trace_reads_as_it_always_did)
{
    char trace[64], words[64];
    rt_make_folder();
    for (size_t i = 0; i < GOLDENS; i++) {
        paths_of(&goldens[i], trace, words);
        if (getenv("UPDATE")) update(&goldens[i], trace, words);
        compare(trace, words);
    }
}

UNIT_TEST(what_is_recorded_today_reads_the_same)
{
    char trace[64], words[64];
    const char *const path = rt_path("golden.sbt");
    for (size_t i = 0; i < GOLDENS; i++) {
        paths_of(&goldens[i], trace, words);
        rt_in_child(record_golden, (void *)(uintptr_t)&goldens[i]);
        compare(path, words);
    }
}

// A kind that the format gains must get a golden trace.
UNIT_TEST(every_kind_of_event_has_a_golden_trace)
{
    for (uint32_t kind = 1; kind < TS_EVENT_LIMIT; kind++) {
        const char *const name = ts_event_name(kind);
        bool found = !strcmp(name, "unknown");
        for (size_t i = 0; i < GOLDENS; i++)
            found = found || !strcmp(name, goldens[i].name);
        if (!found) fail_msg("no golden trace for %s", name);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
