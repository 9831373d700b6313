// Recorded traces: every byte flipped, every truncation.
#define _GNU_SOURCE
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include "tests/unit.h"

#include "tests/replay/reader/sbt_rows.h"

static uint8_t *load(const char *path, size_t *size)
{
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *const bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static void check(const rows *all, const rows *truth, const char *path,
                  const char *what, size_t offset)
{
    if (!rows_within(all, truth, all->reported))
        fail_msg("%s: %s at %zu: an event that is not in the trace", path, what,
                 offset);
    if (!all->reported && !rows_same(all, truth))
        fail_msg("%s: %s at %zu: something is missing silently", path, what,
                 offset);
}

static void check_file(const char *path)
{
    size_t size;
    uint8_t *const bytes = load(path, &size);
    rows truth = rows_read(bytes, size, false);
    assert_int_equal(truth.opened, TS_OK);
    assert_false(truth.reported);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= (uint8_t)(1 << i % 8);
        rows flipped = rows_read(bytes, size, i % 2);
        bytes[i] ^= (uint8_t)(1 << i % 8);
        assert_true(flipped.reported);
        check(&flipped, &truth, path, "flip", i);
        rows_close(&flipped);
        rows cut = rows_read(bytes, i, false);
        assert_true(cut.reported);
        check(&cut, &truth, path, "cut", i);
        rows_close(&cut);
    }
    rows_close(&truth);
    free(bytes);
}

UNIT_TEST(golden_traces_give_true_events_whatever_is_broken)
{
    glob_t files;
    assert_int_equal(glob("tests/golden/*.sbt", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++)
        check_file(files.gl_pathv[i]);
    assert_true(files.gl_pathc > 0);
    globfree(&files);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
