// Names of frames: in a trace, added to one that exists, and those of Rust.
#define _GNU_SOURCE
#define TRACESMITH_WRITER
#include "tests/record/record_fixture.h"

#include "tools/cli/cli.h"

enum { MAIN = 1 };

static ts_writer *begin(const char *path)
{
    ts_writer *w;
    const ts_writer_desc desc = { .path = path };
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    const ts_track_entry track = { .type = TS_TRACK_THREAD, .number = 7 };
    assert_int_equal(MAIN, ts_writer_track(w, 0, &track));
    ts_writer_event(w, TS_EVENT_MARK, MAIN, 10, 0, NULL, 0);
    return w;
}

static uint32_t name(ts_writer *w, const char *text)
{
    return ts_writer_name(w, text, strlen(text));
}

static ts_line_entry line_of(ts_writer *w, const char *function,
                             const char *file, uint32_t line)
{
    const ts_line_entry made = { name(w, function), name(w, file), line, 0 };
    return made;
}

static void expect_line(const ts_reader *reader, const ts_line_entry *line,
                        const char *function, const char *file, uint32_t number)
{
    assert_string_equal(function, ts_reader_name(reader, line->function).text);
    assert_string_equal(file, ts_reader_name(reader, line->file).text);
    assert_int_equal(number, line->line);
}

UNIT_TEST(a_frame_has_the_names_that_were_said_last)
{
    const char *const path = rt_path("symbols.sbt");
    ts_writer *const w = begin(path);
    const ts_module_entry module = { name(w, "/bin/app"), 0, 4096, 100 };
    const uint32_t app = ts_writer_module(w, &module, "12345678", 8);
    const ts_frame_entry at = { app, 0, 0x20 }, other = { app, 0, 0x10 };
    ts_line_entry lines[2] = { line_of(w, "old", "a.c", 1) };
    assert_int_not_equal(0, ts_writer_symbol(w, &at, lines, 1));
    lines[0] = line_of(w, "inner", "a.h", 3);
    lines[1] = line_of(w, "outer", "a.c", 5);
    const uint32_t symbol = ts_writer_symbol(w, &at, lines, 2);
    assert_int_equal(symbol, ts_writer_symbol(w, &at, lines, 2));
    assert_int_not_equal(0, ts_writer_symbol(w, &other, NULL, 0));
    assert_int_equal(TS_OK, ts_writer_close(w));
    rt_trace trace = rt_read(path);
    const ts_line_entry *found;
    assert_int_equal(2, ts_reader_symbol(trace.reader, &at, &found));
    expect_line(trace.reader, &found[0], "inner", "a.h", 3);
    expect_line(trace.reader, &found[1], "outer", "a.c", 5);
    assert_int_equal(0, ts_reader_symbol(trace.reader, &other, &found));
    const ts_frame_entry none[] = { { app, 0, 0x21 }, { 0, 0, 0x20 } };
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(0, ts_reader_symbol(trace.reader, &none[i], &found));
    rt_close(&trace);
}

static uint64_t hash_of(const char *path, size_t *size)
{
    static uint8_t bytes[1 << 16];
    FILE *const in = fopen(path, "rb");
    assert_non_null(in);
    *size = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    uint64_t hash = 0;
    for (size_t i = 0; i < *size; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

UNIT_TEST(a_trace_is_extended_in_place_or_stays_as_it_was)
{
    size_t before_size, size;
    const char *const path = rt_path("extended.sbt");
    assert_int_equal(TS_OK, ts_writer_close(begin(path)));
    const uint64_t before = hash_of(path, &before_size);
    ts_writer *w;
    const ts_frame_entry at = { 1, 0, 2 };
    // Abandoned: not a byte is another one.
    assert_int_equal(TS_OK, ts_writer_extend(&w, path, 10, 0));
    const ts_line_entry dropped = line_of(w, "dropped", "", 0);
    ts_writer_symbol(w, &at, &dropped, 1);
    ts_writer_abandon(w);
    assert_int_equal(before, hash_of(path, &size));
    assert_int_equal(before_size, size);
    for (uint32_t i = 0; i < 2; i++) {
        rt_trace trace = rt_read(path);
        const uint32_t names =
            (uint32_t)ts_reader_entry_count(trace.reader, TS_CHUNK_NAMES);
        assert_int_equal(i,
                         ts_reader_entry_count(trace.reader, TS_CHUNK_SYMBOLS));
        rt_close(&trace);
        assert_int_equal(TS_OK, ts_writer_extend(&w, path, names, i));
        const ts_line_entry line =
            line_of(w, i ? "second" : "first", "f.c", 1 + i);
        ts_writer_symbol(w, &at, &line, 1);
        assert_int_equal(TS_OK, ts_writer_close(w));
    }
    rt_trace trace = rt_read(path);
    const ts_line_entry *found;
    assert_int_equal(1, rt_rows(&trace, TS_EVENT_MARK, NULL));
    assert_int_equal(1, ts_reader_symbol(trace.reader, &at, &found));
    expect_line(trace.reader, found, "second", "f.c", 2);
    rt_close(&trace);
}

UNIT_TEST(what_is_no_finished_trace_is_not_extended)
{
    ts_writer *w;
    const char *const path = rt_path("short.sbt");
    size_t size;
    assert_int_equal(TS_OK, ts_writer_close(begin(path)));
    hash_of(path, &size);
    assert_int_equal(0, truncate(path, (off_t)size - 8));
    assert_int_equal(TS_ERR_TRUNCATED, ts_writer_extend(&w, path, 0, 0));
    assert_null(w);
    assert_int_equal(0, truncate(path, 20));
    assert_int_equal(TS_ERR_NOT_SBT, ts_writer_extend(&w, path, 0, 0));
    assert_int_equal(TS_ERR_IO,
                     ts_writer_extend(&w, rt_path("none.sbt"), 0, 0));
    assert_int_equal(TS_ERR_USAGE, ts_writer_extend(&w, NULL, 0, 0));
}

// Source of the first ones: RFC 2603 and tests of rustc.
UNIT_TEST(names_of_rust_are_read)
{
#ifndef TRACESMITH_IBERTY
    skip();
#endif
    static const char *const names[][2] = {
        { "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar" },
        { "_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>" },
        { "_RINvCs1234_1a1fAhj4_E", "a::f::<[u8; 4]>" },
        { "_RINvCs1234_1a1fKj7b_E", "a::f::<123>" },
        { "_RINvCs1234_1a1fRShE", "a::f::<&[u8]>" },
        { "_RINvC1a1fFUKCjEuE", "a::f::<unsafe extern \"C\" fn(usize)>" },
        { "_RINvC1a1fTmlEE", "a::f::<(u32, i32)>" },
        { "_RINvC1a1fDNtC1b5TraitEL_E", "a::f::<dyn b::Trait>" },
        { "_RNCNvC7mycrate4main0", "mycrate::main::{closure#0}" },
        { "_RNvMCs1_7mycrateNtB2_3Foo3new", "<mycrate::Foo>::new" },
        { "_RNvXCs1_7mycrateNtB2_3FooNtB2_3Bar3baz",
          "<mycrate::Foo as mycrate::Bar>::baz" },
        { "_RNvC1a1f.llvm.123", "a::f" },
        { "_RNvC1au7caf_dma", "a::caf\xC3\xA9" },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *const text = cli_demangle(names[i][0]);
        if (!text) fail_msg("%s is not read", names[i][0]);
        assert_string_equal(names[i][1], text);
        free(text);
    }
}

UNIT_TEST(what_is_no_name_of_rust_ends)
{
    static const char *const names[] = {
        "_R",
        "_RB_",
        "_RNvB_1a",
        "_RIINvCs1_1a1fBA_E",
        "_RNvC1a9f",
        "_RC99a",
        "_RNvC1a1fx",
        "_RMC1a",
        "_RINvC1a1fTTTTTTTTT",
        "_ZN1aE",
        // Each part says the one before it twice: 2^20 letters.
        "_RINvC1a1fTmmETB8_B8_ETBd_Bd_ETBk_Bk_ETBr_Br_EE",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        free(cli_demangle(names[i]));
    char deep[4000] = "_RINvC1a1f";
    memset(deep + 10, 'R', 3000);
    assert_null(cli_demangle(deep));
    // Every one of these is cut or changed somewhere, and none does harm.
    const char good[] = "_RINvNtC3std3mem8align_ofTjRShAhj4_EE";
    for (size_t cut = 2; cut < sizeof good; cut++)
        for (int c = '0'; c <= 'z'; c++) {
            char text[sizeof good];
            memcpy(text, good, sizeof good);
            text[cut - 1] = (char)c;
            free(cli_demangle(text));
            text[cut] = 0;
            free(cli_demangle(text));
        }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
