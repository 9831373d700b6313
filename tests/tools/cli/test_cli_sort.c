/*
    test_cli_sort.c - sorting of long arrays
*/
#include "tools/cli/sort.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit.h"

enum { MANY = 20000 };

typedef struct item {
    int64_t ns;
    uint32_t thread, index;
} item;

static uint32_t draw(uint32_t below)
{
    static uint64_t state = 7;
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(state >> 33) % below;
}

static int by_time(const void *left, const void *right)
{
    const item *const a = left, *const b = right;
    if (a->ns != b->ns) return a->ns < b->ns ? -1 : 1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

static uint64_t time_of(const void *of)
{
    return cli_sort_signed(((const item *)of)->ns);
}

static int never(const void *left, const void *right)
{
    (void)left, (void)right;
    fail_msg("nothing is compared");
    return 0;
}

// Items with few times and threads, so that many are equal.
static item *draw_items(size_t count, uint32_t times)
{
    item *const all = calloc(count + 1, sizeof *all);
    assert_non_null(all);
    for (uint32_t i = 0; i < count; i++)
        all[i] = (item){ (int64_t)draw(times) - times / 2, draw(3), i };
    return all;
}

static void assert_sorted(const item *all, size_t count)
{
    bool *const seen = calloc(count + 1, sizeof *seen);
    assert_non_null(seen);
    for (size_t i = 0; i < count; i++) {
        assert_true(all[i].index < count && !seen[all[i].index]);
        seen[all[i].index] = true;
        if (!i) continue;
        const int order = by_time(&all[i - 1], &all[i]);
        assert_true(order < 0 ||
                    (order == 0 && all[i - 1].index < all[i].index));
    }
    free(seen);
}

UNIT_TEST(items_are_sorted_and_equal_ones_keep_their_order)
{
    static const size_t counts[] = { 0, 1, 2, 100, MANY };
    static const uint32_t times[] = { 1, 2, 1000, UINT32_MAX };
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (size_t t = 0; t < sizeof times / sizeof *times; t++) {
            item *const by_number = draw_items(counts[c], times[t]);
            item *const plain = draw_items(counts[c], times[t]);
            cli_sort_by(by_number, counts[c], sizeof *plain, time_of, by_time);
            cli_sort(plain, counts[c], sizeof *plain, by_time);
            assert_sorted(by_number, counts[c]);
            assert_sorted(plain, counts[c]);
            free(by_number);
            free(plain);
        }
}

UNIT_TEST(nothing_is_compared_where_there_is_nothing_to_sort)
{
    item one = { 1, 2, 3 };
    cli_sort(NULL, 0, sizeof one, never);
    cli_sort(&one, 1, sizeof one, never);
    cli_sort_by(&one, 1, sizeof one, time_of, never);
    cli_sort_numbers(NULL, 0);
}

UNIT_TEST(numbers_are_sorted_below_and_above_zero)
{
    int64_t all[MANY] = { INT64_MAX, 0, INT64_MIN, -1, 1 };
    size_t least = 0;
    for (size_t i = 5; i < MANY; i++)
        all[i] = (int64_t)draw(UINT32_MAX) * (draw(2) ? -70000 : 70000);
    int64_t sum = 0;
    for (size_t i = 3; i < MANY; i++)
        sum += all[i];
    cli_sort_numbers(all, MANY);
    for (size_t i = 1; i < MANY; i++)
        least += all[i - 1] <= all[i];
    assert_int_equal(MANY - 1, least);
    assert_true(all[0] == INT64_MIN && all[MANY - 1] == INT64_MAX);
    for (size_t i = 1; i + 1 < MANY; i++)
        sum -= all[i];
    assert_int_equal(0, sum);
    cli_sort_numbers(all, MANY); // in order: stays
    assert_true(all[0] == INT64_MIN && all[MANY - 1] == INT64_MAX);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
