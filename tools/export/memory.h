/*
    memory.h - memory, growing buffers and hash maps of the exporters

    Running out of memory ends an export. The functions below then do not
    return: they jump out of the enclosing export_within_memory, which frees
    everything that was allocated within it.
*/
#ifndef TS_TOOLS_EXPORT_MEMORY_H
#define TS_TOOLS_EXPORT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct export_scope export_scope;

/*
    Calls work(user). Returns false if memory ran out: work was left by a jump,
    stop(user) was called, and what work allocated is freed. If work returns,
    its allocations are kept.

    Threads: each thread has its own scopes.
*/
bool export_within_memory(void (*work)(void *user), void (*stop)(void *user),
                          void *user);
// Registers `what` to be closed if work is left by a jump, in reverse order of
// registration. export_pop removes the last registration.
void export_push(void (*close)(void *what), void *what);
void export_pop(void);
// Leaves work by a jump, as if memory had run out.
_Noreturn void export_give_up(void);
// Allocation for threads other than the one of work; NULL if there is no
// memory. work adopts the result, which then is freed with its other
// allocations.
void *export_zeroed_elsewhere(size_t count, size_t size);
void export_adopt(void *memory);

// As realloc, but never fails: size 0 frees and returns NULL. New bytes are not
// cleared.
void *export_resize(void *memory, size_t size);
void *export_zeroed(size_t count, size_t size);

// Doubles the capacity of an array that is full.
void *export_grow_more(void *array, size_t *capacity, size_t size);

static inline void *export_grow(void *array, size_t *capacity, size_t count,
                                size_t size)
{
    if (count < *capacity) return array;
    return export_grow_more(array, capacity, size);
}

/* ---- Buffer ------------------------------------------------------------- */

typedef struct export_buffer {
    uint8_t *data;
    size_t size, capacity;
} export_buffer;

void export_buffer_grow(export_buffer *buffer, size_t more);

// Returns room for `more` bytes after the contents; the caller increases
// `size`.
static inline uint8_t *export_room(export_buffer *buffer, size_t more)
{
    if (buffer->capacity - buffer->size < more)
        export_buffer_grow(buffer, more);
    return buffer->data + buffer->size;
}

static inline void export_put(export_buffer *buffer, const void *bytes,
                              size_t size)
{
    if (!size) return;
    memcpy(export_room(buffer, size), bytes, size);
    buffer->size += size;
}

/*
    Appends a text as valid UTF-8: each invalid byte and each zero byte becomes
    U+FFFD.
*/
void export_put_utf8(export_buffer *buffer, const char *text, size_t size);

void export_put_hex(export_buffer *buffer, uint64_t number);

// Returns the size in bytes of the UTF-8 character at `text`; 0 if it is
// invalid.
size_t export_utf8_size(const char *text, size_t size);

/* ---- Map ---------------------------------------------------------------- */

/*
    A map from u64 to u64: open addressing with linear probing, at most 3/4
    full. EXPORT_NO_KEY is no valid key. All zeros is an empty map. Nothing
    iterates over a map, so keys may be addresses and outputs stay reproducible.
*/
#define EXPORT_NO_KEY UINT64_MAX

typedef struct export_slot {
    uint64_t key, value;
} export_slot;

typedef struct export_map {
    export_slot *slots;
    size_t count, mask; // mask: capacity - 1; 0 while empty
} export_map;

// Eight consecutive keys share two cache lines, because ascending numbers are
// often looked up in order.
static inline uint64_t export_hash(uint64_t key)
{
    uint64_t hash = key >> 3;
    hash ^= hash >> 32;
    hash *= UINT64_C(0x9E3779B97F4A7C15); // 2^64 / golden ratio
    return ((hash ^ hash >> 29) & ~UINT64_C(7)) + (key & 7);
}

// Returns a pointer to the value of a key; NULL if it is missing.
static inline uint64_t *export_map_find(const export_map *map, uint64_t key)
{
    if (!map->slots) return NULL;
    for (size_t i = export_hash(key) & map->mask;; i = (i + 1) & map->mask) {
        export_slot *const slot = &map->slots[i];
        if (slot->key == key) return &slot->value;
        if (slot->key == EXPORT_NO_KEY) return NULL;
    }
}

// Returns a pointer to the value of a key, which is added with value 0 if it is
// missing. Lifetime: until the next call that may add a key.
uint64_t *export_map_at(export_map *map, uint64_t key);
bool export_map_remove(export_map *map, uint64_t key);
void export_map_free(export_map *map);

#endif // TS_TOOLS_EXPORT_MEMORY_H
