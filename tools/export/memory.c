/*
    memory.c - memory, growing buffers and hash maps of the exporters
*/
#include "tools/export/memory.h"
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Scopes ------------------------------------------------------------- */

// The header of each allocation: a ring of the scope's allocations, or of
// itself alone.
typedef struct block {
    struct block *next, *previous;
} block;
_Static_assert(sizeof(block) % _Alignof(max_align_t) == 0,
               "what follows a block is aligned");

enum { CLOSERS = 8 };

struct export_scope {
    jmp_buf give_up;
    block blocks; // the ring's head
    struct {
        void (*close)(void *what);
        void *what;
    } closers[CLOSERS];
    size_t closer_count;
    export_scope *outer;
};

static _Thread_local export_scope *scope;

static void link_alone(block *b)
{
    b->next = b->previous = b;
}

static void link_block(block *b)
{
    link_alone(b);
    if (!scope) return;
    b->next = scope->blocks.next;
    b->previous = &scope->blocks;
    b->next->previous = b->previous->next = b;
}

static void unlink_block(block *b)
{
    b->next->previous = b->previous;
    b->previous->next = b->next;
    link_alone(b);
}

static void leave(export_scope *s, void (*stop)(void *user), void *user)
{
    while (s->closer_count) {
        s->closer_count--;
        s->closers[s->closer_count].close(s->closers[s->closer_count].what);
    }
    if (stop) stop(user);
    while (s->blocks.next != &s->blocks) {
        block *const b = s->blocks.next;
        unlink_block(b);
        free(b);
    }
}

static bool run(export_scope *s, void (*work)(void *user),
                void (*stop)(void *user), void *user)
{
    if (setjmp(s->give_up)) {
        scope = s->outer;
        leave(s, stop, user);
        return false;
    }
    work(user);
    scope = s->outer;
    while (s->blocks.next != &s->blocks)
        unlink_block(s->blocks.next);
    return true;
}

bool export_within_memory(void (*work)(void *user), void (*stop)(void *user),
                          void *user)
{
    export_scope s = { .outer = scope };
    link_alone(&s.blocks);
    scope = &s;
    return run(&s, work, stop, user);
}

void export_push(void (*close)(void *what), void *what)
{
    if (!scope || scope->closer_count == CLOSERS) return;
    scope->closers[scope->closer_count].close = close;
    scope->closers[scope->closer_count++].what = what;
}

void export_pop(void)
{
    if (scope) scope->closer_count--;
}

void export_give_up(void)
{
    if (!scope) abort(); // a bug: allocations need a scope
    longjmp(scope->give_up, 1);
}

/* ---- Memory ------------------------------------------------------------- */

void *export_resize(void *memory, size_t size)
{
    block *const old = memory ? (block *)memory - 1 : NULL;
    if (old) unlink_block(old);
    if (!size) {
        free(old);
        return NULL;
    }
    block *const moved = size < SIZE_MAX - sizeof(block)
                             ? realloc(old, sizeof(block) + size)
                             : NULL;
    if (!moved && old) link_block(old);
    if (!moved) export_give_up();
    link_block(moved);
    return moved + 1;
}

void *export_zeroed_elsewhere(size_t count, size_t size)
{
    if (size && count > (SIZE_MAX - sizeof(block)) / size) return NULL;
    block *const b = calloc(1, sizeof *b + count * size);
    if (!b) return NULL;
    link_alone(b);
    return b + 1;
}

void export_adopt(void *memory)
{
    if (memory) link_block((block *)memory - 1);
}

void *export_zeroed(size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size) count = SIZE_MAX / size;
    void *const memory = export_resize(NULL, count * size);
    if (memory) memset(memory, 0, count * size);
    return memory;
}

void *export_grow_more(void *array, size_t *capacity, size_t size)
{
    *capacity = *capacity ? *capacity * 2 : 8;
    return export_resize(array, *capacity * size);
}

/* ---- Buffer ------------------------------------------------------------- */

void export_buffer_grow(export_buffer *buffer, size_t more)
{
    const size_t doubled = buffer->capacity * 2;
    const size_t wanted = buffer->size + more + 64;
    buffer->capacity = wanted > doubled ? wanted : doubled;
    buffer->data = export_resize(buffer->data, buffer->capacity);
}

// Source: RFC 3629, section 4: no overlong forms, no surrogates, nothing above
// U+10FFFF.
size_t export_utf8_size(const char *text, size_t size)
{
    const uint8_t *const b = (const uint8_t *)text;
    if (!size) return 0;
    if (b[0] < 0x80) return 1;
    const size_t units = b[0] >= 0xF0 ? 4 : b[0] >= 0xE0 ? 3 : 2;
    if (b[0] < 0xC2 || b[0] > 0xF4 || size < units) return 0;
    for (size_t i = 1; i < units; i++)
        if ((b[i] & 0xC0) != 0x80) return 0;
    const bool bad =
        (b[0] == 0xE0 && b[1] < 0xA0) || (b[0] == 0xED && b[1] >= 0xA0) ||
        (b[0] == 0xF0 && b[1] < 0x90) || (b[0] == 0xF4 && b[1] >= 0x90);
    return bad ? 0 : units;
}

// Returns whether each of eight bytes is 1 to 127.
static bool is_plain(uint64_t eight)
{
    const uint64_t high = UINT64_C(0x8080808080808080);
    return !((eight | (eight - UINT64_C(0x0101010101010101))) & high);
}

void export_put_utf8(export_buffer *buffer, const char *text, size_t size)
{
    uint8_t *to = export_room(buffer, size * 3 + 8); // U+FFFD takes 3 bytes
    for (size_t i = 0; i < size;) {
        uint64_t eight; // copy plain ASCII eight bytes at a time
        if (size - i >= 8 && (memcpy(&eight, text + i, 8), is_plain(eight))) {
            memcpy(to, &eight, 8), to += 8, i += 8;
            continue;
        }
        const size_t taken = text[i] ? export_utf8_size(text + i, size - i) : 0;
        if (taken)
            memcpy(to, text + i, taken), to += taken, i += taken;
        else
            memcpy(to, "\xEF\xBF\xBD", 3), to += 3, i++;
    }
    buffer->size = (size_t)(to - buffer->data);
}

void export_put_hex(export_buffer *buffer, uint64_t number)
{
    char text[24];
    const int size =
        snprintf(text, sizeof text, "0x%llx", (unsigned long long)number);
    export_put(buffer, text, (size_t)size);
}

/* ---- Map ---------------------------------------------------------------- */

static void rehash(export_map *map)
{
    const export_map old = *map;
    const size_t capacity = old.slots ? (old.mask + 1) * 2 : 16;
    map->slots = export_resize(NULL, capacity * sizeof *map->slots);
    map->mask = capacity - 1;
    for (size_t i = 0; i < capacity; i++)
        map->slots[i].key = EXPORT_NO_KEY;
    if (!old.slots) return;
    for (size_t i = 0; i <= old.mask; i++) {
        if (old.slots[i].key == EXPORT_NO_KEY) continue;
        size_t at = export_hash(old.slots[i].key) & map->mask;
        while (map->slots[at].key != EXPORT_NO_KEY)
            at = (at + 1) & map->mask;
        map->slots[at] = old.slots[i];
    }
    export_resize(old.slots, 0);
}

uint64_t *export_map_at(export_map *map, uint64_t key)
{
    uint64_t *const found = export_map_find(map, key);
    if (found) return found;
    if (!map->slots || map->count >= map->mask / 4 * 3) rehash(map);
    size_t at = export_hash(key) & map->mask;
    while (map->slots[at].key != EXPORT_NO_KEY)
        at = (at + 1) & map->mask;
    map->count++;
    map->slots[at].key = key;
    map->slots[at].value = 0;
    return &map->slots[at].value;
}

// Removes a key by moving later entries of its probe sequence back into the
// gap, so that no tombstones are needed.
bool export_map_remove(export_map *map, uint64_t key)
{
    uint64_t *const value = export_map_find(map, key);
    if (!value) return false;
    size_t gap = (size_t)((export_slot *)(void *)(value - 1) - map->slots);
    for (size_t i = (gap + 1) & map->mask;; i = (i + 1) & map->mask) {
        const export_slot slot = map->slots[i];
        if (slot.key == EXPORT_NO_KEY) break;
        const size_t home = export_hash(slot.key) & map->mask;
        // An entry can move unless its home slot is between the gap and itself.
        if (((i - home) & map->mask) < ((i - gap) & map->mask)) continue;
        map->slots[gap] = slot;
        gap = i;
    }
    map->slots[gap].key = EXPORT_NO_KEY;
    map->count--;
    return true;
}

void export_map_free(export_map *map)
{
    export_resize(map->slots, 0);
    *map = (export_map){ 0 };
}
