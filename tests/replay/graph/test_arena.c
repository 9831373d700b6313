/*
    test_arena.c - big blocks of a replay reuse the memory of freed ones

    Tests the allocator itself, which is private, in an implementation of the
    test's own.
*/
#define TRACESMITH_REPLAY_IMPLEMENTATION // first: it defines _GNU_SOURCE
#include "tracesmith_replay.h"
#if defined(__linux__) && !defined(MADV_HUGEPAGE)
#error "regions would consist of small pages"
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/unit.h"

enum { MB = 1 << 20 };
static const ts_allocator none;

static void *resize(const ts_allocator *a, void *block, size_t old, size_t size)
{
    return a->resize(a->user, block, old, size);
}

static const ts__arena *arena_of(const ts_allocator *a)
{
    return (const ts__arena *)a->user;
}

UNIT_TEST(what_was_freed_is_the_next_block)
{
    const ts_allocator a = ts__arena_open(&none);
    char *const first = resize(&a, NULL, 0, 3 * MB);
    char *const second = resize(&a, NULL, 0, 2 * MB);
    memset(first, 1, 3 * MB);
    memset(second, 2, 2 * MB);
    resize(&a, first, 3 * MB, 0);
    assert_ptr_equal(first, resize(&a, NULL, 0, 1 * MB));
    assert_ptr_equal(first + 1 * MB, resize(&a, NULL, 0, 2 * MB));
    // Both parts, freed, are one again.
    resize(&a, first + 1 * MB, 2 * MB, 0);
    resize(&a, first, 1 * MB, 0);
    assert_ptr_equal(first, resize(&a, NULL, 0, 3 * MB));
    assert_int_equal(2, second[0]);
    assert_int_equal(2, second[2 * MB - 1]);
    ts__arena_close(&a);
}

UNIT_TEST(a_block_grows_where_it_is_if_what_follows_is_free)
{
    const ts_allocator a = ts__arena_open(&none);
    char *const block = resize(&a, NULL, 0, 2 * MB);
    block[2 * MB - 1] = 7;
    assert_ptr_equal(block, resize(&a, block, 2 * MB, 5 * MB));
    char *const next = resize(&a, NULL, 0, 1 * MB);
    assert_ptr_equal(block + 5 * MB, next);
    char *const moved = resize(&a, block, 5 * MB, 6 * MB);
    assert_ptr_not_equal(block, moved);
    assert_int_equal(7, moved[2 * MB - 1]);
    // And shrinks, down to a small one.
    assert_ptr_equal(moved, resize(&a, moved, 6 * MB, 3 * MB));
    char *const small = resize(&a, moved, 3 * MB, 1000);
    resize(&a, small, 1000, 0);
    ts__arena_close(&a);
}

UNIT_TEST(a_small_block_that_grows_keeps_what_it_held)
{
    const ts_allocator a = ts__arena_open(&none);
    size_t size = 1000;
    unsigned char *block = resize(&a, NULL, 0, size);
    memset(block, 9, size);
    for (; size < 40 * MB; size *= 2) {
        block = resize(&a, block, size, size * 2);
        memset(block + size, 9, size);
    }
    for (size_t i = 0; i < size; i++)
        if (block[i] != 9) fail();
    assert_null(resize(&a, block, size, 0));
    ts__arena_close(&a);
}

UNIT_TEST(more_than_there_is_fails_and_leaves_the_block)
{
    const ts_allocator a = ts__arena_open(&none);
    char *const block = resize(&a, NULL, 0, 2 * MB);
    block[0] = 3;
    assert_null(resize(&a, NULL, 0, SIZE_MAX - 1));
    assert_null(resize(&a, block, 2 * MB, SIZE_MAX - 1));
    assert_null(resize(&a, block, 2 * MB, SIZE_MAX / 2 - 1));
    assert_int_equal(3, block[0]);
    resize(&a, block, 2 * MB, 0);
    ts__arena_close(&a);
}

// A timeline shares the arena of its replay.
UNIT_TEST(an_arena_lives_as_long_as_its_last_user)
{
    const ts_allocator a = ts__arena_open(&none);
    const ts_allocator b = ts__arena_open(&a);
    assert_ptr_equal(a.user, b.user);
    char *const block = resize(&a, NULL, 0, 2 * MB);
    ts__arena_close(&a);
    memset(block, 1, 2 * MB);
    assert_int_equal(1, arena_of(&b)->users);
    ts__arena_close(&b);
}

static void *mine(void *user, void *ptr, size_t old, size_t size)
{
    if (size) return realloc(ptr, size);
    free(ptr);
    return NULL;
}

UNIT_TEST(an_allocator_of_the_program_is_used_as_it_is)
{
    const ts_allocator own = { mine, NULL };
    const ts_allocator a = ts__arena_open(&own);
    assert_true(a.resize == mine);
    ts__arena_close(&a);
}

// Blocks of many sizes come and go; each keeps what was written to it.
UNIT_TEST(blocks_do_not_touch_each_other)
{
    enum { BLOCKS = 40, ROUNDS = 4000 };
    const ts_allocator a = ts__arena_open(&none);
    struct {
        uint32_t *at;
        size_t size;
    } blocks[BLOCKS] = { { NULL, 0 } };
    uint64_t seed = 1;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const size_t i = (size_t)(seed >> 33) % BLOCKS;
        const size_t size = (size_t)(seed >> 40) % (3 * MB) / 4 * 4;
        uint32_t *const at = blocks[i].at;
        const size_t old = blocks[i].size;
        if (at) {
            assert_int_equal(i, at[0]);
            assert_int_equal(i, at[old / 4 - 1]);
        }
        blocks[i].at = resize(&a, at, old, size);
        blocks[i].size = size;
        if (!size) continue;
        if (at) assert_int_equal(i, blocks[i].at[0]);
        blocks[i].at[0] = blocks[i].at[size / 4 - 1] = (uint32_t)i;
    }
    // About as much as was ever held at once, and no more.
    assert_in_range(arena_of(&a)->size, 0, BLOCKS * 6 * (uint64_t)MB);
    for (size_t i = 0; i < BLOCKS; i++)
        resize(&a, blocks[i].at, blocks[i].size, 0);
    for (size_t i = 0; i < arena_of(&a)->count; i++) {
        assert_false(arena_of(&a)->extents[i].used);
        assert_true(arena_of(&a)->extents[i].first);
    }
    ts__arena_close(&a);
}

// In a child, as the limit stays.
static void child_fills_its_address_space(void)
{
    const ts_allocator a = ts__arena_open(&none);
    struct rlimit limit;
    unsigned long pages = 0;
    FILE *const file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1 ||
        !resize(&a, NULL, 0, (size_t)256 * MB))
        _exit(2);
    limit.rlim_cur = limit.rlim_max =
        pages * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)(256 + 64) * MB;
    if (setrlimit(RLIMIT_AS, &limit)) _exit(3);
    // Half of what there is would be 128 MB.
    _exit(resize(&a, NULL, 0, (size_t)20 * MB) ? 0 : 1);
}

UNIT_TEST(what_fits_a_limit_is_there)
{
#ifdef __SANITIZE_ADDRESS__
    skip(); // it ends the process where malloc fails
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    skip();
#endif
#endif
    int status = -1;
    const pid_t child = fork();
    if (!child) child_fills_its_address_space();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
