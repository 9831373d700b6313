/*
    derived.h - counters that follow from events

    A counter is a function of time that changes in steps: how many operations
    wait in a stream, how fast a device copies, how full its kernels make it,
    how much of a pool is allocated. Its row holds the steps as samples.

    A row holds a limited number of steps. Of more, the first, the lowest, the
    highest and the last of each cell of time are kept, so that a view that is
    wider than its cells is not coarser than the pixels, and a narrower one
    shows between which values the counter was.
*/
#ifndef TS_TOOLS_STUDIO_SCENE_DERIVED_H
#define TS_TOOLS_STUDIO_SCENE_DERIVED_H

#include "tools/analyze/figures/operations/occupancy.h"
#include "tools/cli/map.h"
#include "tools/studio/scene/scene.h"

// Steps of a counter that is being made.
typedef struct scene_steps {
    scene_item *items;
    size_t count, room;
    size_t cell_at;  // the first item of the last cell
    int64_t cell_ns; // 0: all steps are kept
} scene_steps;

enum { SCENE_STEPS_LEAST = 4096, SCENE_STEPS_ALL = 1 << 20 };

// Adds that a value holds from a time on, which is not before the last one;
// NaN: unknown. At most `most` steps are kept. False without memory.
bool scene_steps_add(scene_steps *t, size_t most, int64_t time_ns,
                     double value);
// Frees the steps.
void scene_steps_close(scene_steps *t);

// A counter that is being made. `sum` is of what goes on at a time.
typedef struct scene_meter {
    scene_steps steps;
    uint32_t track, part; // of its row
    int64_t sum;
    uint32_t unknown; // how much of what goes on has no known value
    bool known;       // something had
} scene_meter;

// When something that goes on ends.
typedef struct scene_ending {
    int64_t ns, change;
    uint32_t meter;
    bool unknown;
} scene_ending;

// Memory that is told apart in counters.
typedef struct scene_pool {
    uint32_t track;  // the device, or the process of the host; 0: unknown
    uint32_t name;   // that the source gives it; 0: none
    uint32_t memory; // kind of device memory as in the format
    bool device;
} scene_pool;

enum { SCENE_MOST_POOLS = 1000 };

typedef struct scene_block {
    uint64_t size;
    uint32_t meter; // in the list of free blocks: the next one
} scene_block;

// An allocation or a free.
typedef struct scene_memory_event {
    uint64_t place; // hash of the address and where that is one
    uint64_t size;
    uint32_t meter; // of an allocation
    uint32_t order;
    bool takes;
} scene_memory_event;

// Live blocks, and the events of the present moment.
typedef struct scene_heap {
    cli_map at; // from places to blocks
    scene_block *blocks;
    size_t count, room;
    uint32_t spare; // the first free one + 1; 0: none
    scene_memory_event *events;
    size_t event_count, event_room;
    int64_t now_ns;
    uint32_t tracks; // that the trace had when `several` was found
    bool several;    // processes
} scene_heap;

typedef struct scene_derived {
    bool wanted; // also of a trace that is too long
    bool done, failed;
    bool stale;        // the trace has grown since
    uint64_t slices;   // of work that they took
    uint64_t looks;    // whether the trace has grown, since they are made
    size_t most;       // steps of a counter; 0: see SCENE_STEPS_ALL
    ts_cursor *cursor; // while they are made
    scene_meter *meters;
    size_t count, room;
    cli_map meter_at;      // from track and part
    scene_ending *endings; // a heap, the first to end on top
    size_t ending_count, ending_room;
    scene_heap heap;
    // Of the last device that had a kernel, and of its launches.
    uint32_t limits_of;
    bool limits_known;
    occupancy_limits limits;
    cli_map shares; // from device and launch
    // Pools keep their numbers.
    scene_pool *pools;
    size_t pool_count, pool_room;
    cli_map pool_at;
    char name[480];
} scene_derived;

// Finds or adds a counter. NULL without memory.
scene_meter *scene_meter_of(scene_derived *d, uint32_t track, uint32_t part);
// How many steps each of so many counters may have.
size_t scene_steps_most(const scene_derived *d, size_t counters);
// Adds a change at a time, not before the last one. False without memory.
bool scene_meter_add(scene_meter *m, size_t most, int64_t time_ns,
                     int64_t change, int unknown);
// Moves the steps to the row of the counter. False without memory.
bool scene_meter_show(scene *s, scene_meter *m);

// Takes an event of memory: see pools.c. False without memory.
bool scene_heap_take(scene *s, const ts_event *event);
// Takes what happened at the last moment. False without memory.
bool scene_heap_settle(scene_derived *d);
// Forgets all blocks.
void scene_heap_close(scene_heap *heap);

// Whether counters are to be made.
bool scene_derived_behind(const scene *s);
// Makes some of them. Returns whether there are new ones to see.
bool scene_derived_work(scene *s);
// After each look whether the trace has grown. Begins anew if it has since the
// present ones were made, but only after so many looks that little time goes
// into it. Returns whether it does.
bool scene_derived_grow(scene *s, bool grown);
// Forgets what is being made; rows stay.
void scene_derived_drop(scene *s);
// Also forgets the pools.
void scene_derived_close(scene *s);
// Adds the rows of queues, from the graph. False without memory.
bool scene_queues_add(scene *s);
// Puts the facts of a step. False if there is no such step.
bool scene_step_facts(scene *s, scene_ref ref, scene_put *put, void *user);

// Whether a row is made here.
static inline bool scene_is_derived(const scene_row *row)
{
    return row->type == SCENE_COUNTER && row->part != SCENE_RECORDED;
}
// Whether it is made of the graph, and goes with that.
static inline bool scene_is_queue(const scene_row *row)
{
    return row->type == SCENE_COUNTER && row->part == SCENE_QUEUE;
}

#endif // TS_TOOLS_STUDIO_SCENE_DERIVED_H
