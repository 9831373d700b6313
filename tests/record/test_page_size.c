// The recorder on a kernel with pages of 64 KiB: mmap is replaced by one that
// refuses what such a kernel refuses and maps at multiples of its page size.
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 65536 };
static int refused;

static size_t whole(size_t size)
{
    return (size + PAGE - 1) & ~(size_t)(PAGE - 1);
}

static int refuse(void)
{
    refused++;
    errno = EINVAL;
    return -1;
}

static void *page_map(void *at, size_t size, int prot, int flags, int fd,
                      off_t offset)
{
    size = whole(size);
    if ((uintptr_t)at % PAGE || offset % PAGE) return refuse(), MAP_FAILED;
    if (!(flags & MAP_FIXED)) {
        uint8_t *const room = mmap(NULL, size + PAGE, PROT_NONE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        const size_t before = whole((uintptr_t)room) - (uintptr_t)room;
        at = room + before;
        if (before) munmap(room, before);
        munmap(room + before + size, PAGE - before);
    }
    return mmap(at, size, prot, flags | MAP_FIXED, fd, offset);
}

static int page_unmap(void *at, size_t size)
{
    return (uintptr_t)at % PAGE ? refuse() : munmap(at, whole(size));
}

static int page_advise(void *at, size_t size, int advice)
{
    return (uintptr_t)at % PAGE ? refuse() : madvise(at, size, advice);
}

static void *page_move(void *from, size_t size, size_t to_size, int flags,
                       void *to)
{
    if ((uintptr_t)from % PAGE || (uintptr_t)to % PAGE)
        return refuse(), MAP_FAILED;
    return mremap(from, whole(size), whole(to_size), flags, to);
}

static long page_config(int name)
{
    return name == _SC_PAGESIZE ? PAGE : sysconf(name);
}

#define mmap          page_map
#define munmap        page_unmap
#define madvise       page_advise
#define mremap        page_move
#define sysconf       page_config
#define TS__PAGE_MOST PAGE
#define TRACESMITH_IMPLEMENTATION
#define TRACESMITH_SALVAGE // the reader in the library uses it
#include "tests/record/record_fixture.h"
#undef mmap
#undef munmap
#undef madvise
#undef mremap
#undef sysconf

static const ts_session_desc plain;

// The bytes of deleted sidecars that this process still has mapped.
static size_t kept_of_sidecars(void)
{
    char line[4600];
    size_t kept = 0;
    FILE *const maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) {
        uintptr_t from, to;
        if (strstr(line, "/tracesmith-") && strstr(line, ".ring") &&
            sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) == 2)
            kept += to - from;
    }
    fclose(maps);
    return kept;
}

// The thread still has its rings: three, of 32 KiB to 4 MiB.
UNIT_TEST(a_stop_gives_the_memory_of_the_session_back)
{
    const char *const path = rt_start("one.sbt", plain);
    rt_zones(300000);
    assert_true(kept_of_sidecars() > (1 << 20));
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_assert_zones(path, 300000);
    assert_in_range(kept_of_sidecars(), 0, 8 * PAGE); // a page of each ring
    assert_int_equal(refused, 0);
}

// A thread inside of a call may look at its rings after the session has ended,
// or after another one has begun.
UNIT_TEST(memory_is_that_of_the_session_that_lasts)
{
    assert_false(ts__session_still(TS__LOAD(&ts__here.session)));
    rt_start("one.sbt", plain);
    const uint32_t first = TS__LOAD(&ts__here.session);
    assert_true(ts__session_still(first));
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_false(ts__session_still(first));
    rt_start("two.sbt", plain);
    assert_true(ts__session_still(TS__LOAD(&ts__here.session)));
    assert_false(ts__session_still(first));
    assert_int_equal(ts_session_stop(), TS_OK);
}

static void *short_thread(void *unused)
{
    rt_zones(10);
    return unused;
}

UNIT_TEST(rings_are_reused_and_freed)
{
    const char *const path = rt_start("two.sbt", plain);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        assert_int_equal(0, pthread_create(&thread, NULL, short_thread, NULL));
        pthread_join(thread, NULL);
    }
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_assert_zones(path, 200);
    assert_int_equal(refused, 0);
}

static void record_more(void *user)
{
    rt_zones(1000);
    RT_CHECK(refused == 0);
    exit(0);
}

UNIT_TEST(a_child_has_rings_of_its_own)
{
    const char *const path = rt_start("three.sbt", plain);
    rt_zones(1000);
    rt_in_child(record_more, NULL);
    rt_zones(1000);
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_assert_zones(path, 2000);
    assert_int_equal(refused, 0);
}

static void record_and_die(void *user)
{
    const ts_session_desc desc = { .path = user, .drain = TS_DRAIN_MANUAL };
    RT_CHECK(ts_session_start(&desc) == TS_OK);
    rt_zones(1000);
    kill(getpid(), SIGKILL);
}

UNIT_TEST(what_a_dead_process_left_is_found)
{
    const char *const path = rt_path("four.sbt");
    uint64_t records;
    rt_wait(rt_fork(record_and_die, (void *)(uintptr_t)path));
    assert_int_equal(ts_salvage(path, &records), TS_OK);
    assert_int_equal(records, 1000);
    assert_int_equal(refused, 0);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
