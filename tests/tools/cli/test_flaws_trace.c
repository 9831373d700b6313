/*
    Traces for transcripts, as they are written down here:
    - flaws.sbt has much that may be wrong with one: its clock has no frequency,
      records were lost on tracks of each type, half of its zones are damaged,
      and there are more tracks than are listed;
    - odd.sbt has operations at impossible times and without a device, and
      memory of a pool without a name;
    - many.sbt has more events than are drawn or kept one by one.

    UPDATE=1 build/tests/tools/cli/test_flaws_trace writes them.
*/
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "tests/unit.h"
#include <stdio.h>

#include "tests/replay/reader/sbt_forge_events.h"

enum { TICK_0 = 1000 };
enum { PROCESS = 1, MAIN, DEVICE, CONTEXT, HEAP, LEGACY, UNORDERED, MORE };
enum { N_WORK = 1, N_GEMM, N_HEAP };

static void put_dictionaries(forge *f)
{
    const uint64_t site[6] = { N_WORK, 0, 0, 0, 0, 0 };
    const uint64_t launch[14] = { N_GEMM, 8, 1, 1, 32, 1, 1 };
    forge_begin(f, FORGE_NAMES);
    forge_entry(f, N_WORK, "work", 4);
    forge_entry(f, N_GEMM, "gemm", 4);
    forge_entry(f, N_HEAP, "heap", 4);
    forge_end(f);
    forge_begin(f, FORGE_SITES);
    forge_numbers(f, 1, 6, 6, site);
    forge_end(f);
    forge_begin(f, FORGE_LAUNCHES);
    forge_numbers(f, 1, 14, 14, launch);
    forge_end(f);
}

// A stream with flags: 2 the legacy default one, 4 out of order.
static void put_stream(forge *f, uint32_t id, uint64_t flags)
{
    const uint64_t values[] = { 5, CONTEXT, 0, 0, 100 + id, flags };
    forge_begin(f, FORGE_TRACKS);
    forge_numbers(f, id, 4, 6, values);
    forge_end(f);
}

static void put_tracks(forge *f)
{
    forge_track(f, PROCESS, 1, 0, 0, 0);
    forge_track(f, MAIN, 2, PROCESS, 0, 0);
    forge_track(f, DEVICE, 3, PROCESS, 0, 0);
    forge_track(f, CONTEXT, 4, DEVICE, 0, 0);
    forge_track(f, HEAP, 6, PROCESS, N_HEAP, 0);
    put_stream(f, LEGACY, 2);
    put_stream(f, UNORDERED, 4);
    forge_begin(f, FORGE_TRACKS);
    for (uint32_t i = 0; i < 40; i++) {
        const uint64_t thread[] = { 2, PROCESS, 0, 0, 500 + i, 0 };
        forge_numbers(f, MORE + i, 4, 6, thread);
    }
    forge_end(f);
}

static void put_losses(forge *f)
{
    static const uint32_t tracks[] = { PROCESS, MAIN,   DEVICE,    CONTEXT,
                                       HEAP,    LEGACY, UNORDERED, 0 };
    forge_begin(f, FORGE_LOSS);
    for (uint64_t i = 0; i < 11; i++) {
        const uint64_t lost[] = {
            1, 0, 1 + i, TICK_0 + 10 * i, TICK_0 + 90, 0
        };
        forge_numbers(f, i < 8 ? tracks[i] : MORE + (uint32_t)i, 2, 6, lost);
    }
    forge_end(f);
}

static void put_kernel(forge *f, uint32_t track, uint64_t start, uint64_t ns)
{
    const uint64_t launch = 1;
    forge_events(f, 16, track, 1, start, start + ns);
    forge_column(f, 1, FORGE_PACK, FORGE_DELTA, &start);
    forge_column(f, 2, FORGE_PACK, FORGE_PLAIN, &ns);
    forge_column(f, 25, FORGE_PACK, FORGE_PLAIN, &launch);
    forge_events_end(f);
}

static size_t put_zone(forge *f, uint64_t start)
{
    const forge_zone zone = { start, start + 40, 1 };
    return forge_zones(f, MAIN, FORGE_PACK, &zone, 1);
}

// Every other chunk has a wrong byte; the last one has its right checksum, but
// columns that are none.
static void put_zones(forge *f)
{
    size_t at;
    for (uint64_t i = 0; i < 11; i++) {
        at = put_zone(f, TICK_0 + 100 * i);
        f->file.bytes[at + 70] ^= 1;
        put_zone(f, TICK_0 + 100 * i + 50);
    }
    at = put_zone(f, TICK_0 + 1100);
    f->file.bytes[at + 64] = 99;
    forge_seal(f->file.bytes, at);
}

static void put_flaws(forge *f)
{
    forge_open(f, TICK_0);
    put_dictionaries(f);
    put_tracks(f);
    put_losses(f);
    put_zones(f);
    put_kernel(f, LEGACY, TICK_0 + 200, 300);
    put_kernel(f, UNORDERED, TICK_0 + 600, 300);
    forge_finish(f);
}

/* ---- Operations that are odd --------------------------------------------- */

// A stream without a device, a time that no clock reaches, a pool that is not
// defined.
static void put_odd(forge *f)
{
    enum { LOST = 20 };
    forge_open(f, 0);
    forge_sample(f, 0, 4, 0, 0, UINT64_C(1700000000000000000));
    put_dictionaries(f);
    forge_track(f, PROCESS, 1, 0, 0, 0);
    forge_track(f, LOST, 5, 0, 0, 0);
    put_kernel(f, LOST, 1000, 500);
    put_kernel(f, LOST, 4000, 500);
    put_kernel(f, LOST, UINT64_C(1) << 62, 500);
    forge_track(f, MAIN, 2, PROCESS, 0, 0);
    forge_events(f, 8, MAIN, 1, 2000, 2000);
    const uint64_t block[] = { 2000, 0x1000, 64, 77 };
    forge_column(f, 1, FORGE_PACK, FORGE_DELTA, &block[0]);
    for (uint8_t i = 1; i < 4; i++)
        forge_column(f, 12 + i, FORGE_PACK, FORGE_PLAIN, &block[i]);
    forge_events_end(f);
    forge_finish(f);
}

/* ---- Very many events ---------------------------------------------------- */

static void put_constant(forge *f, uint8_t column, uint8_t transform,
                         uint64_t value)
{
    const forge_bytes none = { NULL, 0, 0 };
    forge_column_raw(f, column, FORGE_CONSTANT, transform, 0, value, &none);
}

// A chunk of 1,048,576 kernels, or zones, which all begin together.
static void put_million(forge *f, uint8_t event, uint32_t track, uint64_t start)
{
    forge_events(f, event, track, 1 << 20, start, start + 500);
    if (event == 1) { // site, nest, lead, tail
        for (uint8_t column = 3; column <= 6; column++)
            put_constant(f, column, FORGE_PLAIN, column == 3);
    } else { // start, duration, launch
        put_constant(f, 1, FORGE_DELTA, start);
        put_constant(f, 2, FORGE_PLAIN, 500);
        put_constant(f, 25, FORGE_PLAIN, 1);
    }
    forge_events_end(f);
}

static void put_many(forge *f)
{
    forge_open(f, 0);
    forge_sample(f, 0, 4, 0, 0, UINT64_C(1700000000000000000));
    put_dictionaries(f);
    put_tracks(f);
    for (uint64_t i = 0; i < 16; i++) {
        put_million(f, 16, LEGACY, 1000 * i);
        put_million(f, 1, MAIN, 1000 * i);
    }
    forge_finish(f);
}

/* ---- The files ----------------------------------------------------------- */

static void compare(const char *path, void (*put)(forge *f))
{
    static uint8_t bytes[1 << 16];
    const char *const update = getenv("UPDATE");
    forge f;
    put(&f);
    FILE *const file = fopen(path, update ? "w+b" : "rb");
    assert_non_null(file);
    if (update) assert_int_equal(f.size, fwrite(f.bytes, 1, f.size, file));
    rewind(file);
    assert_int_equal(f.size, fread(bytes, 1, sizeof bytes, file));
    assert_memory_equal(bytes, f.bytes, f.size);
    fclose(file);
    forge_close(&f);
}

UNIT_TEST(the_traces_with_flaws_are_what_is_written_here)
{
    compare("tests/tools/cli/flaws.sbt", put_flaws);
    compare("tests/tools/cli/odd.sbt", put_odd);
    compare("tests/tools/cli/many.sbt", put_many);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
