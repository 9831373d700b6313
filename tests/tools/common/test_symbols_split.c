// Debug information that lies in files of its own: names, and what is missing.
#define _GNU_SOURCE
#define TRACESMITH_WRITER
#define TRACESMITH_UNWIND_IMPLEMENTATION
#include "tests/record/record_fixture.h"

#include "backends/ts_stack.h"
#include "tools/common/symbolize/symbolize.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t called_from;

__attribute__((noinline)) static void callback(void)
{
    called_from = (uint64_t)(uintptr_t)__builtin_return_address(0) - 1;
}

// A library whose function `outer` holds another in which it calls.
static void build(const char *folder, const char *flags)
{
    static const char *const code =
        "static inline __attribute__((always_inline)) void inner(\n"
        "    void (*f)(void), volatile int *x) { f(); *x = 1; }\n"
        "void outer(void (*f)(void)) { volatile int x; inner(f, &x); x = 2; }";
    char command[1600];
    snprintf(command, sizeof command,
             "cd %s && printf '%%s\\n' '%s' >split.c && "
             "cc -O1 -fPIC %s -c split.c && "
             "cc -shared -Wl,--build-id split.o -o split.so",
             folder, code, flags);
    assert_int_equal(0, system(command));
}

// A trace with the frame in `inner`. False: it cannot be loaded here.
static bool write_trace(const char *path, const char *folder)
{
    char file[600];
    void (*outer)(void (*f)(void));
    ts__stack_object object = { .start = 0 };
    const uint8_t *id = NULL;
    ts_writer *w;
    const ts_writer_desc desc = { .path = path };
    snprintf(file, sizeof file, "%s/split.so", folder);
    void *const lib = dlopen(file, RTLD_NOW);
    if (!lib) return false; // made by a compiler for another machine
    void *const symbol = dlsym(lib, "outer");
    assert_non_null(symbol);
    memcpy(&outer, &symbol, sizeof outer);
    outer(callback);
    assert_true(ts__stack_find(called_from, &object));
    const size_t id_size = ts__stack_build_id(&object, &id);
    assert_int_not_equal(0, id_size);
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    const ts_module_entry module = { ts_writer_name(w, file, strlen(file)), 0,
                                     object.start, object.end - object.start };
    const ts_frame_entry frame = { ts_writer_module(w, &module, id, id_size), 0,
                                   called_from - object.start };
    assert_int_not_equal(0, ts_writer_stack(w, &frame, 1));
    assert_int_equal(TS_OK, ts_writer_close(w));
    dlclose(lib);
    return true;
}

// "inner 2 outer 3 ", each with its line.
static void read_names(const char *path, char *text, size_t room)
{
    const symbolize_options options = { .no_cache = true };
    const symbolize_line *lines = NULL;
    const ts_frame_entry *frames;
    rt_trace trace = rt_read(path);
    symbolize *const s = symbolize_open(trace.reader, &options);
    assert_non_null(s);
    assert_true(symbolize_all(s));
    const uint32_t stack = ts_reader_entry(trace.reader, TS_CHUNK_STACKS, 0);
    assert_int_equal(1, ts_reader_stack(trace.reader, stack, &frames));
    const uint32_t count = symbolize_frame(s, &frames[0], &lines);
    int used = 0;
    *text = 0;
    for (uint32_t i = 0; i < count; i++)
        used += snprintf(text + used, room - (size_t)used, "%s %" PRIu32 " ",
                         lines[i].function.text, lines[i].line);
    symbolize_close(s);
    rt_close(&trace);
}

static void expect(const char *flags, const char *with, const char *without)
{
    char path[600], dwo[600], text[256];
    if (system("cc --version >/dev/null 2>&1") != 0) skip();
    const char *const folder = rt_make_folder();
    snprintf(path, sizeof path, "%s", rt_path("split.sbt"));
    snprintf(dwo, sizeof dwo, "%s/split.dwo", folder);
    build(folder, flags);
    if (!write_trace(path, folder)) skip();
    read_names(path, text, sizeof text);
    if (!*text) skip(); // built without libdw
    assert_string_equal(with, text);
    assert_int_equal(0, unlink(dwo));
    read_names(path, text, sizeof text);
    assert_string_equal(without, text);
    // One that nobody writes to is not waited for.
    assert_int_equal(0, mkfifo(dwo, 0600));
    alarm(120);
    read_names(path, text, sizeof text);
    alarm(0);
    assert_string_equal(without, text);
    assert_int_equal(0, unlink(dwo));
}

// Without it there are the units' lines and the table of symbols.
UNIT_TEST(functions_of_split_debug_information_are_found)
{
    expect("-g -gsplit-dwarf -gdwarf-5", "inner 2 outer 3 ", "outer 0 ");
}

UNIT_TEST(so_are_those_of_dwarf_4)
{
    expect("-g -gsplit-dwarf -gdwarf-4", "inner 2 outer 3 ", "outer 0 ");
}

// Writes a trace with a frame in each file of the folder, built as "\1\2\3\4".
static void write_frames(const char *path, const char *folder,
                         const char *const *files, size_t count)
{
    const ts_writer_desc desc = { .path = path };
    ts_frame_entry frames[4];
    ts_writer *w;
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    for (size_t i = 0; i < count; i++) {
        char file[600];
        snprintf(file, sizeof file, "%s/%s", folder, files[i]);
        const ts_module_entry module = { ts_writer_name(w, file, strlen(file)),
                                         0, 0x10000 * (i + 1), 4096 };
        frames[i] =
            (ts_frame_entry){ ts_writer_module(w, &module, "\1\2\3\4", 4), 0,
                              16 };
    }
    assert_int_not_equal(0, ts_writer_stack(w, frames, (uint32_t)count));
    assert_int_equal(TS_OK, ts_writer_close(w));
}

UNIT_TEST(a_file_that_is_not_the_recorded_one_is_said)
{
    static const char *const files[] = { "missing.so", "text.so", "other.so" };
    static const char *const wanted[] = {
        "file not found",
        "not an ELF file",
        ("the file is a different build: 0badcafe instead of the recorded "
         "01020304"),
    };
    const symbolize_options options = { .no_cache = true };
    const symbolize_module *modules;
    char path[600], command[900];
    const char *const folder = rt_make_folder();
    snprintf(command, sizeof command,
             "cd %s && echo text >text.so && cc -shared -x c /dev/null "
             "-Wl,--build-id=0x0badcafe -o other.so 2>/dev/null",
             folder);
    if (system(command) != 0) skip();
    snprintf(path, sizeof path, "%s", rt_path("frames.sbt"));
    write_frames(path, folder, files, 3);
    rt_trace trace = rt_read(path);
    symbolize *const s = symbolize_open(trace.reader, &options);
    assert_non_null(s);
    assert_true(symbolize_all(s));
    assert_int_equal(3, symbolize_modules(s, &modules));
    const bool able = !strstr(modules[0].why, "libdw");
    for (size_t i = 0; able && i < 3; i++)
        assert_string_equal(wanted[i], modules[i].why);
    symbolize_close(s);
    rt_close(&trace);
    if (!able) skip(); // built without it
}

int main(void)
{
    return unit_run(NULL, NULL);
}
