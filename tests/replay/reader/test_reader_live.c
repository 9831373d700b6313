// Traces that are still being written, or whose writer is gone.
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/unit.h"

#include "tests/replay/reader/sbt_rows.h"
#include "tests/replay/reader/sbt_sample.h"

static char folder[64];

static int make_folder(void **state)
{
    strcpy(folder, "/tmp/reader_live.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    return rmdir(folder);
}

static void path_of(char path[128], const char *name)
{
    snprintf(path, 128, "%s/%s", folder, name);
}

static void write_bytes(const char *path, const void *bytes, size_t size,
                        int flags)
{
    const int fd = open(path, O_WRONLY | O_CREAT | flags, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    close(fd);
}

static ts_reader *open_path(const char *path)
{
    ts_reader *reader;
    const ts_reader_desc desc = { .path = path, .no_salvage = true };
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    return reader;
}

// A sidecar beside the trace, locked by a process that lives until killed.
static pid_t live_writer(const forge *f, char sidecar[128])
{
    int ready[2], byte = 0;
    char name[64] = "tracesmith-";
    for (size_t i = 0; i < 16; i++)
        snprintf(name + 11 + 2 * i, 3, "%02x", f->session[i]);
    strcat(name, ".ring");
    path_of(sidecar, name);
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        const int fd = open(sidecar, O_RDWR | O_CREAT, 0600);
        struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
        if (fd < 0 || fcntl(fd, F_SETLK, &lock) != 0) _exit(1);
        if (write(ready[1], &byte, 1) != 1) _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void end_writer(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

// Byte by byte a trace grows; at every moment the events of the whole chunks
// are there, and nothing is called damage.
UNIT_TEST(a_live_trace_grows_without_damage)
{
    char path[128], sidecar[128];
    forge f;
    sample_forge(&f);
    rows truth = rows_read(f.bytes, f.size, false);
    path_of(path, "grow.sbt");
    const pid_t writer = live_writer(&f, sidecar);
    write_bytes(path, f.bytes, 64, O_TRUNC);
    ts_reader *const reader = open_path(path);
    size_t seen = 0, step = 0;
    for (size_t at = 64; at < f.size; at += step) {
        assert_true(ts_reader_info(reader)->live);
        assert_false(ts_reader_info(reader)->finished);
        step = at % 61 + 1 < f.size - at ? at % 61 + 1 : f.size - at;
        write_bytes(path, f.bytes + at, step, O_APPEND);
        ts_reader_refresh(reader);
        assert_int_equal(ts_reader_damage_count(reader), 0);
        assert_int_equal(ts_reader_info(reader)->file_bytes, at + step);
        if (at % 5) continue;
        rows all = rows_of(reader, NULL);
        all.clocks = truth.clocks;
        assert_true(all.count >= seen);
        assert_true(rows_within(&all, &truth, true));
        seen = all.count;
        rows_close(&all);
    }
    assert_true(ts_reader_info(reader)->finished);
    assert_int_equal(ts_reader_info(reader)->salvage, TS_OK);
    rows all = rows_of(reader, NULL);
    all.rest = rows_rest(reader);
    assert_true(rows_same(&all, &truth));
    assert_false(ts_reader_refresh(reader));
    end_writer(writer);
    ts_reader_close(reader);
    rows_close(&all);
    rows_close(&truth);
    unlink(path);
    unlink(sidecar);
    forge_close(&f);
}

UNIT_TEST(what_was_handed_out_survives_a_refresh)
{
    char path[128];
    forge f;
    sample_forge(&f);
    path_of(path, "views.sbt");
    const size_t half = f.chunks[20];
    write_bytes(path, f.bytes, half, O_TRUNC);
    ts_reader *const reader = open_path(path);
    ts_columns columns = { 0 };
    ts_chunk_info info;
    size_t message = 0;
    while (ts_reader_chunk(reader, message, &info) &&
           info.header.event != TS_EVENT_MESSAGE)
        message++;
    assert_int_equal(ts_reader_decode(reader, message, &columns), TS_OK);
    ts_cursor *cursor;
    ts_event event;
    assert_int_equal(ts_cursor_open(&cursor, reader, NULL), TS_OK);
    assert_true(ts_cursor_next(cursor, &event));
    size_t count = 1;
    const size_t before = ts_reader_chunk_count(reader);
    write_bytes(path, f.bytes + half, f.size - half, O_APPEND);
    assert_true(ts_reader_refresh(reader));
    assert_true(ts_reader_chunk_count(reader) > before);
    assert_memory_equal(columns.texts[2], sample_texts[2], 9);
    while (ts_cursor_next(cursor, &event))
        count++;
    assert_int_equal(ts_cursor_result(cursor), TS_OK);
    assert_true(count < 103); // those of the first half
    ts_cursor_close(cursor);
    ts_columns_close(reader, &columns);
    ts_reader_close(reader);
    unlink(path);
    forge_close(&f);
}

UNIT_TEST(a_dead_writers_torn_chunk_is_damage_until_it_is_mended)
{
    char path[128];
    forge f;
    sample_forge(&f);
    path_of(path, "torn.sbt");
    write_bytes(path, f.bytes, f.chunks[20] + 80, O_TRUNC);
    ts_reader *const reader = open_path(path);
    ts_damage damage;
    assert_false(ts_reader_info(reader)->live);
    assert_int_equal(ts_reader_damage_count(reader), 1);
    assert_true(ts_reader_damage(reader, 0, &damage));
    assert_int_equal(damage.result, TS_ERR_TRUNCATED);
    write_bytes(path, f.bytes + f.chunks[20] + 80, f.size - f.chunks[20] - 80,
                O_APPEND);
    assert_true(ts_reader_refresh(reader));
    assert_int_equal(ts_reader_damage_count(reader), 0);
    assert_true(ts_reader_info(reader)->finished);
    ts_reader_close(reader);
    unlink(path);
    forge_close(&f);
}

UNIT_TEST(a_writers_death_is_noticed)
{
    char path[128], sidecar[128];
    forge f;
    sample_forge(&f);
    path_of(path, "death.sbt");
    const pid_t writer = live_writer(&f, sidecar);
    write_bytes(path, f.bytes, f.chunks[20] + 80, O_TRUNC);
    ts_reader *const reader = open_path(path);
    assert_true(ts_reader_info(reader)->live);
    assert_int_equal(ts_reader_damage_count(reader), 0);
    assert_false(ts_reader_refresh(reader));
    end_writer(writer);
    assert_int_equal(ts_reader_info(reader)->salvage, TS_ERR_BUSY);
    assert_true(ts_reader_refresh(reader));
    assert_false(ts_reader_info(reader)->live);
    assert_int_equal(ts_reader_info(reader)->salvage, TS_ERR_STATE);
    assert_int_equal(ts_reader_damage_count(reader), 1);
    assert_false(ts_reader_refresh(reader));
    ts_reader_close(reader);
    unlink(path);
    unlink(sidecar);
    forge_close(&f);
}

static size_t used;

static void *metered(void *user, void *ptr, size_t old_size, size_t new_size)
{
    used += new_size - old_size;
    if (new_size) return realloc(ptr, new_size);
    free(ptr);
    return NULL;
}

// A trace that is followed for hours gets more and more clock samples.
UNIT_TEST(watching_a_trace_for_long_takes_little_memory)
{
    enum { REFRESHES = 1000 };
    char path[128];
    forge f;
    forge_open(&f, 1000);
    path_of(path, "long.sbt");
    write_bytes(path, f.bytes, f.size, O_TRUNC);
    ts_reader *reader;
    ts_cursor *cursor;
    const ts_reader_desc desc = { .path = path,
                                  .no_salvage = true,
                                  .allocator = { metered, NULL } };
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    assert_int_equal(ts_cursor_open(&cursor, reader, NULL), TS_OK);
    for (uint64_t i = 0; i < REFRESHES; i++) {
        const size_t size = f.size;
        f.chunk_count = 0; // no index
        forge_sample(&f, 0, 3, 1000 + i, i, 0);
        write_bytes(path, f.bytes + size, f.size - size, O_APPEND);
        assert_true(ts_reader_refresh(reader));
    }
    assert_true(used < REFRESHES * 1000);
    ts_cursor_close(cursor);
    ts_reader_close(reader);
    assert_int_equal(used, 0);
    unlink(path);
    forge_close(&f);
}

UNIT_TEST(a_pipe_is_read_to_its_end)
{
    char path[32];
    int ends[2];
    forge f;
    sample_forge(&f);
    rows truth = rows_read(f.bytes, f.size, false);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], f.bytes, f.size), (ssize_t)f.size);
    close(ends[1]);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    ts_reader *const reader = open_path(path);
    rows all = rows_of(reader, NULL);
    all.rest = rows_rest(reader);
    assert_true(rows_same(&all, &truth));
    assert_false(ts_reader_refresh(reader));
    ts_reader_close(reader);
    close(ends[0]);
    rows_close(&all);
    rows_close(&truth);
    forge_close(&f);
}

// Opens a trace, lets `change` do something to its file, and reads all of it.
static rows rows_after(void (*change)(const char *path, const forge *f),
                       ts_reader **reader)
{
    char path[128];
    forge f;
    sample_forge(&f);
    path_of(path, "changed.sbt");
    write_bytes(path, f.bytes, f.size, O_TRUNC);
    *reader = open_path(path);
    change(path, &f);
    const rows all = rows_of(*reader, NULL);
    unlink(path);
    forge_close(&f);
    return all;
}

static void cut_short(const char *path, const forge *f)
{
    assert_int_equal(truncate(path, (off_t)f->chunks[0]), 0);
}

static void flip_payloads(const char *path, const forge *f)
{
    uint8_t byte;
    const int fd = open(path, O_RDWR);
    for (size_t i = 0; i < f->chunk_count; i++) {
        const off_t at = (off_t)f->chunks[i] + 64;
        if (f->bytes[f->chunks[i] + 4] != FORGE_EVENTS) continue;
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    close(fd);
}

// The owner of a trace may truncate it at any time; readers do not die of
// SIGBUS.
UNIT_TEST(a_file_that_is_cut_short_meanwhile_is_damaged)
{
    ts_reader *reader;
    ts_damage damage;
    rows all = rows_after(cut_short, &reader);
    assert_int_equal(all.count, 0);
    assert_true(ts_reader_damage(reader, 0, &damage));
    assert_int_equal(damage.result, TS_ERR_TRUNCATED);
    rows_close(&all);
    ts_reader_close(reader);
}

// What was valid when the trace was opened is checked again when it is read.
UNIT_TEST(a_file_that_changes_meanwhile_is_damaged)
{
    ts_reader *reader;
    ts_damage damage;
    rows all = rows_after(flip_payloads, &reader);
    assert_int_equal(all.count, 0);
    assert_true(ts_reader_damage(reader, 0, &damage));
    assert_int_equal(damage.result, TS_ERR_CORRUPT);
    rows_close(&all);
    ts_reader_close(reader);
}

int main(void)
{
    return unit_run(make_folder, remove_folder);
}
