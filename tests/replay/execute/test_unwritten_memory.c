// Memory that was never written costs nothing: a capture does not read it, a
// replay does not write it, and it is zeros.
#define _GNU_SOURCE
#include "tests/replay/execute/execute_fixture.h"

// Pages may have 2 MiB, and what shares a page with a written byte counts as
// written: most of this memory does not.
enum { CHUNKS = 192, MOST = 150 };
static const uint64_t size = (uint64_t)CHUNKS * TS_CAPTURE_CHUNK;

typedef struct ends_args {
    uint8_t *bytes;
    uint64_t size;
} ends_args;

static uint64_t other; // the address of a byte that only replays write, 0: none

static void bump_ends(const void *args, const ts_vdev_block *block)
{
    const ends_args *const a = args;
    a->bytes[0]++;
    a->bytes[a->size - 1]++;
    if (other) a->bytes[other]++;
}

static void open_vast(void)
{
    const ts_vdev_desc desc = { .memory_bytes = 2 * size };
    vt_open(desc);
    other = 0;
}

// Of memory of a device; false: unknown on this system.
static bool is_blank(const void *at, uint64_t bytes)
{
    bool blank;
    uint64_t done = 0;
    while (done < bytes) {
        done += ts__vd_blank(vdev, (uintptr_t)at + done, bytes - done, &blank);
        if (!blank) return false;
    }
    return true;
}

// Whether this system shows which pages were written: an emulator may not.
static bool pagemap_is_true(void)
{
    enum { PAGES = 8 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t before[PAGES], after[PAGES];
    const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    uint8_t *const all = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const off_t at = (off_t)((uintptr_t)all / page * sizeof *before);
    bool is = file >= 0 && all != MAP_FAILED &&
              pread(file, before, sizeof before, at) == sizeof before;
    for (size_t i = 0; is && i < PAGES; i++)
        ((volatile uint8_t *)all)[i * page] = 1;
    is = is && pread(file, after, sizeof after, at) == sizeof after;
    for (size_t i = 0; is && i < PAGES; i++)
        is = !(before[i] >> 62) && after[i] >> 62;
    if (all != MAP_FAILED) munmap(all, PAGES * page);
    if (file >= 0) close(file);
    return is;
}

UNIT_TEST(pages_that_nobody_wrote_are_known)
{
    open_vast();
    uint8_t *const all = vt_memory(0, size + 256);
    uint8_t *const bytes = all + 256; // which begins within a page
    bool blank;
    if (!is_blank(bytes, size)) {
        ok(ts_vdev_close(vdev));
        assert_false(pagemap_is_true());
        skip();
    }
    assert_int_equal(0, bytes[size - 1]); // what is read is known as well
    bytes[100 * TS_CAPTURE_CHUNK] = 1;
    assert_false(is_blank(bytes, size));
    assert_false(is_blank(bytes + 100 * TS_CAPTURE_CHUNK, TS_CAPTURE_CHUNK));
    assert_true(is_blank(bytes, 60 * TS_CAPTURE_CHUNK));
    // As far as it goes, and in whole chunks.
    const uint64_t alike = ts__vd_blank(vdev, (uintptr_t)bytes, size, &blank);
    assert_true(blank);
    assert_int_equal(0, alike % TS_CAPTURE_CHUNK);
    assert_in_range(alike, 60 * TS_CAPTURE_CHUNK, 100 * TS_CAPTURE_CHUNK);
    assert_int_equal(1, ts__vd_blank(vdev, (uintptr_t)&blank, 1, &blank));
    assert_false(blank); // no memory of a device
    ok(ts_vdev_close(vdev));
}

// Where memory has its addresses again, as in a replay.
UNIT_TEST(what_is_freed_goes_back_to_the_system)
{
    open_vast();
    const uint64_t at[] = { vdev->devices[0].memory, vdev->devices[1].memory };
    const bool mapped = vdev->devices[0].mapped && vdev->devices[1].mapped;
    ok(ts_vdev_close(vdev));
    if (!mapped) skip();
    const ts_vdev_desc desc = { .memory_bytes = 2 * size, .memory_at = at };
    uint8_t *const bytes = ts__vd_pointer(at[0]);
    vt_open(desc);
    ok(ts_vdev_malloc_at(bytes, vdev, 0, size));
    const bool knows = is_blank(bytes, size);
    memset(bytes, 1, size);
    assert_false(is_blank(bytes, size));
    ok(ts_vdev_free(vdev, bytes));
    ok(ts_vdev_malloc_at(bytes, vdev, 0, size));
    if (knows) assert_true(is_blank(bytes, size));
    assert_int_equal(0, bytes[0]);
    assert_int_equal(0, bytes[size - 1]);
    ok(ts_vdev_close(vdev));
    if (!knows) skip();
}

static unsigned looked, wrote;

static const void *count_view(void *user, uint64_t address, uint64_t bytes,
                              void *scratch)
{
    looked++;
    return ts__vd_view(user, address, bytes, scratch);
}

UNIT_TEST(what_nobody_wrote_is_not_looked_at)
{
    static ts_capture_vendor vendor;
    static const ts_session_desc plain_session;
    ts_capture_memory memory;
    ts_capture_op op;
    open_vast();
    uint8_t *const bytes = vt_memory(0, size);
    const bool knows = is_blank(bytes, size);
    vendor = ts__vd_vendor;
    vendor.view = count_view;
    const char *const path = rt_start("blank.sbt", plain_session);
    memset(&memory, 0, sizeof memory);
    memset(&op, 0, sizeof op);
    memory.vendor = &vendor;
    memory.user = vdev;
    ok(ts_capture_start(NULL));
    assert_true(ts_capture_fresh(&memory));
    ts_capture_alloc(&memory, (uintptr_t)bytes, size, 1);
    op.head.kind = TS_EVENT_MEMSET;
    op.head.destination = (uintptr_t)bytes;
    op.head.size = 1;
    looked = 0;
    assert_true(ts_capture_requested(&op));
    ts_capture_begin(&memory, &op);
    if (knows) assert_int_equal(0, looked);
    bytes[5] = 1;
    ts_capture_end(&memory, &op);
    if (knows) assert_in_range(looked, 1, MOST);
    ts_capture_close(&memory);
    ts_capture_stop();
    ok(ts_session_stop());
    ok(ts_vdev_close(vdev));

    const ts_reader_desc desc = { .path = path };
    static const uint8_t zeros[TS_CAPTURE_CHUNK];
    ts_capture c;
    const void *list, *chunk;
    size_t list_size, chunk_size;
    ok(ts_reader_open(&reader, &desc));
    assert_true(ts_reader_capture(reader, 0, &c));
    assert_int_equal(TS_CAPTURE_WHOLE, c.head.state);
    ok(ts_reader_blob(reader, c.regions[0].after, &list, &list_size));
    assert_int_equal(16 * CHUNKS, list_size);
    for (uint32_t i = 0; i < CHUNKS; i++) {
        uint64_t hash[2];
        memcpy(hash, (const uint8_t *)list + 16 * i, 16);
        ok(ts_reader_blob(reader, hash, &chunk, &chunk_size));
        assert_int_equal(TS_CAPTURE_CHUNK, chunk_size);
        assert_int_equal(i == 0, memcmp(chunk, zeros, chunk_size) != 0);
    }
    ts_reader_close(reader);
    if (!knows) skip();
}

static ts_result count_write(void *state, uint64_t address, const void *bytes,
                             uint64_t count)
{
    wrote++;
    return ts_vdev_executor.write(state, address, bytes, count);
}

static ts_result count_read(void *state, void *bytes, uint64_t address,
                            uint64_t count)
{
    looked++;
    return ts_vdev_executor.read(state, bytes, address, count);
}

// Records two launches; whether this system knows which pages are blank.
static bool record(void)
{
    open_vast();
    const ts_vdev_kernel kernel =
        vt_kernel("ends", bump_ends, sizeof(ends_args), 0);
    const char *const path = rt_start("ends.sbt", plain);
    const ends_args args = { vt_memory(0, size), size };
    const ts_vdev_launch_desc launch = { .args = &args };
    const bool knows = is_blank(args.bytes, size);
    ok(ts_capture_start(NULL));
    ok(ts_vdev_launch(vdev, 0, kernel, &launch));
    ok(ts_vdev_launch(vdev, 0, kernel, &launch));
    finish(path);
    load_only(bump_ends);
    executor.write = count_write;
    executor.read = count_read;
    return knows;
}

// What comes of the last of them.
static ts_execution_item run_some(ts_execution_desc desc, size_t count)
{
    ts_execution_item item;
    char why[200];
    looked = wrote = 0;
    ok(ts_execution_open(&execution, reader, positions, count, &desc, why,
                         sizeof why));
    for (size_t i = 0; i < count; i++)
        ts_execution_run(execution, i, &item);
    close_execution();
    return item;
}

static ts_execution_item run_both(ts_execution_desc desc)
{
    return run_some(desc, 2);
}

static void assert_same(ts_execution_item item)
{
    assert_int_equal(TS_OUTCOME_EXECUTED, item.outcome);
    assert_true(item.compared);
    assert_false(item.diverged);
    assert_false(item.unstable);
    assert_int_equal(CHUNKS, item.chunks);
}

UNIT_TEST(what_nobody_wrote_is_not_written_by_a_replay)
{
    const bool knows = record();
    ts_execution_desc desc = usual();
    const ts_execution_item item = run_both(desc);
    assert_same(item);
    if (knows) assert_in_range(wrote, 0, MOST);
    if (knows) assert_in_range(looked, 2, 2 * MOST);
    desc.chain = true;
    assert_same(run_both(desc));
    if (knows) assert_in_range(wrote, 0, MOST);
    desc.chain = false;
    desc.loops = 3; // what a run left is put back, zeros too
    assert_same(run_both(desc));
    // The digest does not depend on what the system knows.
    executor.blank = NULL;
    desc.loops = 1;
    const ts_execution_item all = run_both(desc);
    assert_same(all);
    assert_int_equal(2 * CHUNKS, looked);
    assert_true(item.digest == all.digest);
    ts_reader_close(reader);
    if (!knows) skip();
}

UNIT_TEST(a_byte_where_nothing_was_is_found)
{
    const bool knows = record();
    other = 96 * TS_CAPTURE_CHUNK + 7;
    const ts_execution_item item = run_both(usual());
    assert_int_equal(TS_OUTCOME_EXECUTED, item.outcome);
    assert_true(item.diverged);
    assert_int_equal(1, item.chunks_different);
    assert_true(item.offset == other - 3); // the value of four bytes
    assert_true(item.bytes_known);
    ts_reader_close(reader);
    if (!knows) skip();
}

UNIT_TEST(only_what_is_written_counts_as_memory)
{
    const bool knows = record();
    ts_execution_desc desc = usual();
    desc.memory_bytes = MOST * TS_CAPTURE_CHUNK;
    if (knows) assert_same(run_both(desc));
    executor.blank = NULL;
    assert_int_equal(TS_REASON_NO_MEMORY, run_both(desc).reason);
    desc.memory_bytes = size;
    assert_same(run_both(desc));
    // Not even the tables of it fit.
    executor.blank = ts_vdev_executor.blank;
    desc.memory_bytes = CHUNKS * 16;
    assert_int_equal(TS_REASON_NO_MEMORY, run_both(desc).reason);
    ts_reader_close(reader);
    if (!knows) skip();
}

// Fills of a third each, the second of them with zeros again.
UNIT_TEST(what_was_written_before_counts_as_memory)
{
    const uint64_t part = size / 3;
    open_vast();
    const char *const path = rt_start("fills.sbt", plain);
    uint8_t *const bytes = vt_memory(0, size);
    ok(ts_capture_start(NULL));
    ok(ts_vdev_memset_async(vdev, 0, bytes, 1, part));
    ok(ts_vdev_memset_async(vdev, 0, bytes, 0, part));
    ok(ts_vdev_memset_async(vdev, 0, bytes + 2 * part, 1, part));
    finish(path);
    ts_execution_desc desc = usual();
    desc.memory_bytes = size / 3 * 5 / 3; // room for one of them, not for two
    for (size_t count = 1; count <= 3; count++)
        assert_same(run_some(desc, count));
    desc.chain = true; // where what the first one took cannot go
    assert_int_equal(TS_REASON_NO_MEMORY, run_some(desc, 3).reason);
    desc.memory_bytes = size;
    assert_same(run_some(desc, 3));
    ts_reader_close(reader);
}

int main(void)
{
    NEED_ADDRESSES();
    return unit_run(NULL, NULL);
}
