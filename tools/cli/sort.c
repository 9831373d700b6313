/*
    sort.c - sorting of long arrays, byte by byte of their numbers

    A pass moves all items to their places by one byte of their number, from the
    lowest byte to the highest. Bytes that all numbers share need no pass.
*/
#include "tools/cli/sort.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT = 1024, VALUES = 256 }; // below SHORT, qsort is as fast

typedef struct place {
    uint64_t number;
    uint32_t at; // index of the item
} place;

static bool in_order(const char *items, size_t count, size_t size,
                     cli_compare compare)
{
    for (size_t i = 1; i < count; i++)
        if (compare(items + (i - 1) * size, items + i * size) > 0) return false;
    return true;
}

void cli_sort(void *items, size_t count, size_t size, cli_compare compare)
{
    if (count > 1 && !in_order(items, count, size, compare))
        qsort(items, count, size, compare);
}

// One pass by the byte at `shift`, from `from` to `to`.
static void pass(place *to, const place *from, size_t count, int shift)
{
    size_t starts[VALUES] = { 0 }, sum = 0;
    for (size_t i = 0; i < count; i++)
        starts[from[i].number >> shift & 255]++;
    for (size_t v = 0; v < VALUES; v++) {
        const size_t first = sum;
        sum += starts[v];
        starts[v] = first;
    }
    for (size_t i = 0; i < count; i++)
        to[starts[from[i].number >> shift & 255]++] = from[i];
}

// Sorts the places; `room` has as many. Returns which of both holds them then.
static place *sort_places(place *places, place *room, size_t count)
{
    uint64_t all = UINT64_MAX, any = 0;
    for (size_t i = 0; i < count; i++) {
        all &= places[i].number;
        any |= places[i].number;
    }
    for (int shift = 0; shift < 64; shift += 8) {
        if (!((all ^ any) >> shift & 255)) continue;
        pass(room, places, count, shift);
        place *const sorted = room;
        room = places;
        places = sorted;
    }
    return places;
}

/*
    Puts the items where their places are, one cycle of places after another, so
    that only one item is kept aside: many items may fill most of the memory.
*/
static void move(char *items, size_t size, place *places, size_t count,
                 char *aside)
{
    for (size_t i = 0; i < count; i++) {
        if (places[i].at == i) continue;
        memcpy(aside, items + i * size, size);
        size_t to = i;
        for (size_t from = places[to].at; from != i; from = places[to].at) {
            memcpy(items + to * size, items + from * size, size);
            places[to].at = (uint32_t)to;
            to = from;
        }
        memcpy(items + to * size, aside, size);
        places[to].at = (uint32_t)to;
    }
}

// Sorts each run of items with equal numbers.
static void sort_runs(char *items, size_t size, const place *places,
                      size_t count, cli_compare compare)
{
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1;
             end < count && places[end].number == places[first].number;)
            end++;
        cli_sort(items + first * size, end - first, size, compare);
    }
}

static bool sort_by(char *items, size_t count, size_t size,
                    uint64_t (*number)(const void *item), cli_compare compare)
{
    if (count < SHORT || count > UINT32_MAX) return false;
    place *const places = malloc(count * sizeof *places);
    place *const room = malloc(count * sizeof *room);
    char *const aside = malloc(size);
    const bool ok = places && room && aside;
    for (size_t i = 0; ok && i < count; i++)
        places[i] = (place){ number(items + i * size), (uint32_t)i };
    if (ok) {
        place *const sorted = sort_places(places, room, count);
        move(items, size, sorted, count, aside);
        sort_runs(items, size, sorted, count, compare);
    }
    free(places);
    free(room);
    free(aside);
    return ok;
}

void cli_sort_by(void *items, size_t count, size_t size,
                 uint64_t (*number)(const void *item), cli_compare compare)
{
    if (count < 2 || in_order(items, count, size, compare)) return;
    if (!sort_by(items, count, size, number, compare))
        qsort(items, count, size, compare);
}

static int smaller_first(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

// As `pass`, of numbers alone.
static void pass_numbers(int64_t *to, const int64_t *from, size_t count,
                         int shift)
{
    size_t starts[VALUES] = { 0 }, sum = 0;
    for (size_t i = 0; i < count; i++)
        starts[cli_sort_signed(from[i]) >> shift & 255]++;
    for (size_t v = 0; v < VALUES; v++) {
        const size_t first = sum;
        sum += starts[v];
        starts[v] = first;
    }
    for (size_t i = 0; i < count; i++)
        to[starts[cli_sort_signed(from[i]) >> shift & 255]++] = from[i];
}

void cli_sort_numbers(int64_t *numbers, size_t count)
{
    uint64_t all = UINT64_MAX, any = 0;
    bool sorted = true;
    for (size_t i = 0; i < count; i++) {
        all &= (uint64_t)numbers[i];
        any |= (uint64_t)numbers[i];
        sorted &= !i || numbers[i - 1] <= numbers[i];
    }
    if (sorted) return;
    int64_t *const room =
        count < SHORT ? NULL : malloc(count * sizeof *numbers);
    if (!room) {
        qsort(numbers, count, sizeof *numbers, smaller_first);
        return;
    }
    int64_t *from = numbers, *to = room;
    for (int shift = 0; shift < 64; shift += 8) {
        if (!((all ^ any) >> shift & 255)) continue;
        pass_numbers(to, from, count, shift);
        int64_t *const moved = to;
        to = from;
        from = moved;
    }
    if (from != numbers) memcpy(numbers, from, count * sizeof *numbers);
    free(room);
}
