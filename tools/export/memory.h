/*
    memory.h - memory, growing buffers and hash maps of the exporters

    Running out of memory ends an export: there is nothing an exporter could do
    without. The functions below then do not return, and export_within_memory,
    in which they are called, gives all of it back.
*/
#ifndef TS_TOOLS_EXPORT_MEMORY_H
#define TS_TOOLS_EXPORT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct export_scope export_scope;

/*
    Calls work(user). False: there was not enough memory; it was left in the
    middle, stop(user) was called, and what it allocated is freed. What is
    allocated when it returns stays.

    Threads: each has scopes of its own.
*/
bool export_within_memory(void (*work)(void *user), void (*stop)(void *user),
                          void *user);
// What is to be closed if work is left in the middle; the last that was pushed
// is popped first.
void export_push(void (*close)(void *what), void *what);
void export_pop(void);
// Leaves work in the middle.
_Noreturn void export_give_up(void);
// For other threads than that of the work: NULL if there is no memory. The
// work adopts it.
void *export_zeroed_elsewhere(size_t count, size_t size);
void export_adopt(void *memory);

// Never NULL; new bytes are not cleared. Size 0 frees and returns NULL.
void *export_resize(void *memory, size_t size);
void *export_zeroed(size_t count, size_t size);

// Makes room for one more element of an array that doubles as it grows.
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

// Room for `more` bytes behind the contents; the caller adds to `size`.
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
    Appends a text as valid UTF-8: each byte that is none, and each zero byte,
    becomes U+FFFD.
*/
void export_put_utf8(export_buffer *buffer, const char *text, size_t size);

void export_put_hex(export_buffer *buffer, uint64_t number);

// Bytes of the UTF-8 character at `text`, 0 if there is no valid one.
size_t export_utf8_size(const char *text, size_t size);

/* ---- Map ---------------------------------------------------------------- */

/*
    From u64 to u64, open addressing with linear probing, at most 3/4 full.
    Any key but EXPORT_NO_KEY. All zeros is an empty map. The order of slots
    is never looked at: keys may be addresses.
*/
#define EXPORT_NO_KEY UINT64_MAX

typedef struct export_slot {
    uint64_t key, value;
} export_slot;

typedef struct export_map {
    export_slot *slots;
    size_t count, mask; // mask: capacity - 1, 0 while empty
} export_map;

// Eight keys in a row stay together, on two cache lines: numbers that count up
// are looked up in order.
static inline uint64_t export_hash(uint64_t key)
{
    uint64_t hash = key >> 3;
    hash ^= hash >> 32;
    hash *= UINT64_C(0x9E3779B97F4A7C15); // 2^64 / golden ratio
    return ((hash ^ hash >> 29) & ~UINT64_C(7)) + (key & 7);
}

// The value of a key, NULL if it is not there.
static inline uint64_t *export_map_find(const export_map *map, uint64_t key)
{
    if (!map->slots) return NULL;
    for (size_t i = export_hash(key) & map->mask;; i = (i + 1) & map->mask) {
        export_slot *const slot = &map->slots[i];
        if (slot->key == key) return &slot->value;
        if (slot->key == EXPORT_NO_KEY) return NULL;
    }
}

// The value of a key, which is made with value 0 if it is not there.
// Lifetime: until the next call that may add.
uint64_t *export_map_at(export_map *map, uint64_t key);
bool export_map_remove(export_map *map, uint64_t key);
void export_map_free(export_map *map);

#endif // TS_TOOLS_EXPORT_MEMORY_H
