/*
    test_import_spill.c - what waits until a trace is imported lies in a file
*/
#define _GNU_SOURCE // syscall
#include "tests/tools/import/import_fixture.h"
#include "tools/import/pack.h"
#include <sys/syscall.h>

enum { NUMBERS = 700000 };

// In place of libc's: at most so many bytes a call, as a kernel may decide.
static size_t most_written = SIZE_MAX;

ssize_t pwrite(int file, const void *bytes, size_t size, off_t at)
{
    return syscall(SYS_pwrite64, file, bytes,
                   size < most_written ? size : most_written, at);
}

static uint64_t number_of(uint64_t i)
{
    return i * i * UINT64_C(2654435761) >> (i % 40);
}

static uint64_t *fill(import_pack *pack)
{
    uint64_t *const at = malloc(NUMBERS * sizeof *at);
    assert_non_null(at);
    for (uint64_t i = 0; i < NUMBERS; i++) {
        at[i] = pack->end;
        assert_true(import_pack_put(pack, number_of(i)));
    }
    return at;
}

static void expect_numbers(import_pack *pack, const uint64_t *places)
{
    uint64_t at = 0;
    for (uint64_t i = 0; i < NUMBERS; i++)
        if (import_pack_get(pack, &at) != number_of(i)) fail();
    for (uint64_t i = 0, k = 0; i < 100000; i++, k = (k + 7919 * i) % NUMBERS) {
        at = places[k];
        if (import_pack_get(pack, &at) != number_of(k)) fail();
    }
}

UNIT_TEST(what_is_beyond_a_megabyte_lies_in_a_file_without_a_name)
{
    import_pack pack = { .path = fixture_path(0, "waits") };
    uint64_t *const places = fill(&pack);
    assert_true(pack.end > 3 << 20);
    assert_true(pack.file > 0);
    assert_int_not_equal(0, access(pack.path, F_OK));
    size_t held = 0;
    for (size_t i = 0; i < pack.block_count; i++)
        held += pack.blocks[i] != NULL;
    assert_in_range(held << 13, 1, 1 << 20);
    expect_numbers(&pack, places);
    assert_false(pack.broken);
    import_pack_free(&pack);
    free(places);
}

UNIT_TEST(a_write_cut_short_goes_on_where_it_ended)
{
    import_pack pack = { .path = fixture_path(0, "pieces") };
    most_written = 5000;
    uint64_t *const places = fill(&pack);
    most_written = SIZE_MAX;
    assert_true(pack.file > 0);
    expect_numbers(&pack, places);
    assert_false(pack.broken);
    import_pack_free(&pack);
    free(places);
}

// A disk that fails in between: what comes of it is not looked for anywhere.
UNIT_TEST(what_cannot_be_read_leads_nowhere)
{
    import_pack pack = { .path = fixture_path(0, "fails") };
    free(fill(&pack));
    assert_int_equal(0, ftruncate(pack.file, 100));
    uint64_t at = 1 << 20;
    assert_int_equal(0, import_pack_get(&pack, &at));
    assert_true(pack.broken);
    pack.broken = false;
    at = pack.end + (1 << 20);
    assert_int_equal(0, import_pack_get(&pack, &at));
    assert_true(pack.broken);
    import_pack_free(&pack);
}

UNIT_TEST(without_a_place_for_a_file_all_is_held)
{
    import_pack pack = { .path = "/nonexistent/folder/waits" };
    uint64_t *const places = fill(&pack);
    assert_int_equal(0, pack.file);
    expect_numbers(&pack, places);
    import_pack_free(&pack);
    free(places);
}

UNIT_TEST(a_file_that_is_there_is_left_alone)
{
    const char *const path = fixture_path(0, "mine");
    FILE *const mine = fopen(path, "wb");
    fputs("mine", mine);
    assert_int_equal(0, fclose(mine));
    import_pack pack = { .path = path };
    uint64_t *const places = fill(&pack);
    expect_numbers(&pack, places);
    struct stat st;
    assert_int_equal(0, stat(path, &st));
    assert_int_equal(4, st.st_size);
    import_pack_free(&pack);
    free(places);
}

UNIT_TEST(a_file_that_cannot_be_read_is_noticed)
{
    import_pack pack = { .path = fixture_path(0, "short") };
    uint64_t *const places = fill(&pack);
    assert_int_equal(0, ftruncate(pack.file, 100000));
    for (uint64_t i = 0, at = 0; i < NUMBERS; i++)
        import_pack_get(&pack, &at);
    assert_true(pack.broken);
    import_pack_free(&pack);
    free(places);
}

#ifdef TRACESMITH_YAJL

/* ---- Operations --------------------------------------------------------- */

// More than two runs of them, and each run from all over the trace.
enum { KERNELS = 150000, STEP = 7919 };

static void put_kernels(const char *path)
{
    FILE *const out = fopen(path, "wb");
    assert_non_null(out);
    fputs("{\"schemaVersion\":1,\"traceEvents\":[", out);
    for (uint64_t i = 0; i < KERNELS; i++) {
        const uint64_t place = i * STEP % KERNELS;
        fprintf(out,
                "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\","
                "\"pid\":0,\"tid\":7,\"ts\":%" PRIu64 ",\"dur\":2,\"args\":{"
                "\"device\":0,\"stream\":7,\"correlation\":%" PRIu64 "}}\n",
                i ? "," : "", 1000 + 10 * place, place + 1);
    }
    fputs("]}", out);
    assert_int_equal(0, fclose(out));
}

typedef struct seen {
    uint64_t count;
    int64_t last_ns;
} seen;

// Columns come as they lie in the file.
static void look(const ts_columns *c, uint32_t thread, void *user)
{
    seen *const s = user;
    for (uint32_t i = 0; i < c->count; i++) {
        if (s->count) assert_int_equal(10000, c->start_ns[i] - s->last_ns);
        s->last_ns = c->start_ns[i];
        s->count++;
        assert_int_equal(s->count, c->values[TS_COLUMN_CORRELATION][i]);
    }
}

UNIT_TEST(operations_are_written_in_order_of_start_however_they_came)
{
    put_kernels(fixture_path(0, "kernels.json"));
    imported i = import_into(fixture_path(0, "kernels.json"),
                             fixture_path(1, "kernels.sbt"));
    const ts_filter filter = { .kinds = TS_FILTER(KERNEL) };
    seen all = { 0 };
    assert_int_equal(TS_OK, ts_reader_scan(i.reader, &filter, 1, look, &all));
    assert_int_equal(KERNELS, all.count);
    import_done(&i);
}

#endif

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}
