// Files of Parquet, byte by byte where that is short; the check `tables` reads
// them by DuckDB.
#define _GNU_SOURCE
#include "tools/export/parquet/parquet.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit.h"

typedef struct made {
    char *bytes;
    size_t size;
    FILE *out;
    parquet *file;
} made;

static void begin(made *m, const parquet_column *columns, size_t count)
{
    m->out = open_memstream(&m->bytes, &m->size);
    assert_non_null(m->out);
    m->file = parquet_open(m->out, columns, count, false);
    assert_non_null(m->file);
}

static void end(made *m)
{
    assert_true(parquet_close(m->file, true));
    assert_int_equal(fclose(m->out), 0);
    assert_true(m->size > 12);
    assert_memory_equal(m->bytes, "PAR1", 4);
    assert_memory_equal(m->bytes + m->size - 4, "PAR1", 4);
}

static size_t occurrences(const made *m, const char *text)
{
    size_t count = 0;
    const char *at = m->bytes;
    const size_t size = strlen(text);
    while ((at = memmem(at, (size_t)(m->bytes + m->size - at), text, size))) {
        count++;
        at += size;
    }
    return count;
}

UNIT_TEST(a_number_and_a_null_are_a_page)
{
    static const parquet_column column = { "n", PARQUET_INTEGER };
    // Levels: 6 bytes follow, one group of 8 bits, 0b101; then two numbers.
    static const char page[] = "\x02\x00\x00\x00\x03\x05"
                               "\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF"
                               "\x07\x00\x00\x00\x00\x00\x00\x00";
    made m;
    begin(&m, &column, 1);
    parquet_put_integer(m.file, 0, -2);
    assert_true(parquet_end_row(m.file));
    parquet_put_null(m.file, 0);
    assert_true(parquet_end_row(m.file));
    parquet_put_integer(m.file, 0, 7);
    assert_true(parquet_end_row(m.file));
    end(&m);
    assert_non_null(memmem(m.bytes, m.size, page, sizeof page - 1));
    free(m.bytes);
}

UNIT_TEST(a_text_that_repeats_is_written_once)
{
    static const parquet_column column = { "t", PARQUET_TEXT };
    static const char longer[] = "a text longer than any statistic, which has "
                                 "no more than 64 bytes of its own";
    made m;
    begin(&m, &column, 1);
    for (int i = 0; i < 1000; i++) {
        parquet_put_text(m.file, 0, i % 3 ? longer : "b", i % 3 ? 76 : 1);
        assert_true(parquet_end_row(m.file));
    }
    end(&m);
    assert_int_equal(occurrences(&m, "no more than 64"), 1);
    free(m.bytes);
}

UNIT_TEST(bytes_that_are_no_utf8_are_replaced)
{
    static const parquet_column column = { "t", PARQUET_TEXT };
    made m;
    begin(&m, &column, 1);
    for (int i = 0; i < 100; i++) { // is found again in both forms
        parquet_put_text(m.file, 0, i % 2 ? "x\xFFy" : "plain", i % 2 ? 3 : 5);
        assert_true(parquet_end_row(m.file));
    }
    end(&m);
    assert_int_equal(occurrences(&m, "x\xFFy"), 0);
    // The dictionary, and the maximum in the page and in the footer.
    assert_int_equal(occurrences(&m, "x\uFFFDy"), 3);
    free(m.bytes);
}

UNIT_TEST(many_rows_are_several_groups)
{
    enum { ROWS = 300000, GROUPS = 3 };
    static const parquet_column columns[] = { { "i", PARQUET_INTEGER },
                                              { "r", PARQUET_REAL } };
    static const char data_page[] = "\x15\x00\x15"; // type 0, a size
    made m;
    begin(&m, columns, 2);
    for (int64_t i = 0; i < ROWS; i++) {
        parquet_put_integer(m.file, 0, i * i);
        parquet_put_real(m.file, 1, 0.5);
        assert_true(parquet_end_row(m.file));
    }
    end(&m);
    size_t pages = 0;
    for (size_t i = 0; i + 3 < m.size; i++)
        pages += !memcmp(m.bytes + i, data_page, 3);
    assert_true(pages >= 2 * GROUPS);
    assert_true(m.size > ROWS * 16);
    free(m.bytes);
}

UNIT_TEST(no_rows_are_a_file)
{
    static const parquet_column column = { "none", PARQUET_REAL };
    made m;
    begin(&m, &column, 1);
    end(&m);
    assert_int_equal(occurrences(&m, "none"), 1);
    free(m.bytes);
}

UNIT_TEST(a_full_disk_is_an_error)
{
    static const parquet_column column = { "t", PARQUET_INTEGER };
    FILE *const out = fopen("/dev/full", "w");
    assert_non_null(out);
    setvbuf(out, NULL, _IONBF, 0);
    parquet *const refused = parquet_open(out, &column, 1, false);
    assert_null(refused); // not even its first bytes
    fclose(out);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
