// What is kept of the names of a build: never what some trace said of it.
#define _GNU_SOURCE
#define TRACESMITH_WRITER
#define TRACESMITH_UNWIND_IMPLEMENTATION
#include "tests/rectest.h"

#include "backends/ts_stack.h"
#include "tools/symbolize/symbolize.h"

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

static void a_name_that_a_trace_gives_is_of_that_trace_alone(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_that_a_trace_gives_is_of_that_trace_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
