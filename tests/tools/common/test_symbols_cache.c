// What is kept of the names of a build: never what some trace said of it.
#define _GNU_SOURCE
#define TRACESMITH_WRITER
#define TRACESMITH_UNWIND_IMPLEMENTATION
#include "tests/record/record_fixture.h"

#include "backends/ts_stack.h"
#include "tools/common/symbolize/symbolize.h"

#include <sys/wait.h>

static uint64_t offset_of(const ts__stack_object *object,
                          void (*function)(void))
{
    return (uint64_t)(uintptr_t)function + 1 - object->start;
}

__attribute__((noinline)) void a_function_that_is_lied_about(void);
void a_function_that_is_lied_about(void)
{
    __asm__ volatile("nop\n\tnop\n\tnop\n\tnop");
}

__attribute__((noinline)) void a_function_that_nobody_named(void);
void a_function_that_nobody_named(void)
{
    __asm__ volatile("nop\n\tnop\n\tnop\n\tnop\n\tnop");
}

// A trace with frames in both functions of this program; `lie`: the name that
// it gives the first one, NULL none.
static void write_trace(const char *path, const char *lie)
{
    char self[4096] = "";
    ts__stack_object object = { .start = 0 };
    const uint8_t *id = NULL;
    ts_writer *w;
    const ts_writer_desc desc = { .path = path };
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    assert_true(ts__stack_find(
        (uint64_t)(uintptr_t)a_function_that_nobody_named, &object));
    const size_t id_size = ts__stack_build_id(&object, &id);
    if (!id_size) skip(); // linked without
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    const ts_module_entry module = { ts_writer_name(w, self, strlen(self)), 0,
                                     object.start, object.end - object.start };
    const uint32_t id_of = ts_writer_module(w, &module, id, id_size);
    const ts_frame_entry frames[] = {
        { id_of, 0, offset_of(&object, a_function_that_is_lied_about) },
        { id_of, 0, offset_of(&object, a_function_that_nobody_named) },
    };
    if (lie) {
        const ts_line_entry line = { ts_writer_name(w, lie, strlen(lie)), 0, 0,
                                     0 };
        ts_writer_symbol(w, &frames[0], &line, 1);
    }
    assert_int_not_equal(0, ts_writer_stack(w, frames, 2));
    assert_int_equal(TS_OK, ts_writer_close(w));
}

// The names of both, as they are found; "" not.
static void read_names(const char *path, char names[2][64])
{
    const ts_frame_entry *frames;
    rt_trace trace = rt_read(path);
    symbolize *const s = symbolize_open(trace.reader, NULL);
    assert_non_null(s);
    assert_true(symbolize_all(s));
    const uint32_t stack = ts_reader_entry(trace.reader, TS_CHUNK_STACKS, 0);
    assert_int_equal(2, ts_reader_stack(trace.reader, stack, &frames));
    for (uint32_t i = 0; i < 2; i++) {
        const symbolize_line *lines = NULL;
        const uint32_t count = symbolize_frame(s, &frames[i], &lines);
        snprintf(names[i], 64, "%s", count ? lines[0].function.text : "");
    }
    symbolize_close(s);
    rt_close(&trace);
}

UNIT_TEST(a_name_that_a_trace_gives_is_of_that_trace_alone)
{
    char lying[600], honest[600], names[2][64];
    snprintf(lying, sizeof lying, "%s", rt_path("lying.sbt"));
    snprintf(honest, sizeof honest, "%s", rt_path("honest.sbt"));
    write_trace(lying, "made_up");
    write_trace(honest, NULL);
    assert_int_equal(0, setenv("XDG_CACHE_HOME", rt_make_folder(), 1));
    read_names(lying, names);
    assert_string_equal("made_up", names[0]);
    if (!*names[1]) skip(); // built without libdw
    read_names(honest, names);
    assert_string_equal("a_function_that_is_lied_about", names[0]);
    assert_string_equal("a_function_that_nobody_named", names[1]);
}

// What tools show of the first frame.
static ts_text shown(const cli_trace *trace)
{
    const ts_frame_entry *frames;
    const uint32_t stack = ts_reader_entry(trace->reader, TS_CHUNK_STACKS, 0);
    assert_int_equal(2, ts_reader_stack(trace->reader, stack, &frames));
    return symbolize_text(trace->reader, &frames[0], 0);
}

UNIT_TEST(names_are_those_of_the_trace_however_many_were_open)
{
    enum { TRACES = 100 };
    static const char *const names[2] = { "one", "another" };
    static const cli_tool tool = { .name = "test" };
    static cli_trace traces[TRACES];
    char path[2][600];
    symbolize_off = true; // nothing but what the traces say
    for (size_t i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s", rt_path(names[i]));
        write_trace(path[i], names[i]);
    }
    for (size_t i = 0; i < TRACES; i++) { // where the one before was, perhaps
        cli_trace *const t = &traces[0];
        assert_true(cli_trace_open(t, &tool, path[i % 2], NULL, CLI_WARN_ALL));
        assert_string_equal(names[i % 2], shown(t).text);
        cli_trace_close(t);
    }
    for (size_t i = 0; i < TRACES; i++)
        assert_true(
            cli_trace_open(&traces[i], &tool, path[i % 2], NULL, CLI_WARN_ALL));
    for (size_t i = 0; i < 2 * TRACES; i++)
        assert_string_equal(names[i % 2], shown(&traces[i % TRACES]).text);
    for (size_t i = 0; i < TRACES; i++)
        cli_trace_close(&traces[i]);
    symbolize_off = false;
}

// Two processes keep answers of their own under one name.
UNIT_TEST(an_answer_that_is_kept_is_always_whole)
{
    enum { ROUNDS = 200, SIZE = 40960 };
    const symbolize_request q = { .path = "/no/file",
                                  .id = { 1, 2, 3, 4, 5, 6, 7, 8 },
                                  .id_size = 8 };
    static char text[SIZE + 1];
    pid_t children[2];
    assert_int_equal(0, setenv("XDG_CACHE_HOME", rt_make_folder(), 1));
    symbolize_cache_put(&q, "a", 1);
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i]) continue;
        memset(text, 'a' + i, SIZE);
        for (size_t k = 0; k < ROUNDS; k++)
            symbolize_cache_put(&q, text, (size_t)SIZE >> k % 8);
        _exit(0);
    }
    for (int k = 0; k < ROUNDS; k++) {
        char *const kept = symbolize_cache_get(&q);
        assert_non_null(kept);
        const size_t size = strlen(kept);
        assert_true(size == 1 || (SIZE % size == 0 && SIZE / size <= 128));
        assert_int_equal(size, strspn(kept, *kept == 'a' ? "a" : "b"));
        free(kept);
    }
    for (int i = 0; i < 2; i++) {
        int status = 1;
        assert_int_equal(children[i], waitpid(children[i], &status, 0));
        assert_int_equal(0, status);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
