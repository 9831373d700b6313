/*
    hip/state.h - the state of the backend, HIP's runtime and its clock

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__HIP_STATE_H
#define TS__HIP_STATE_H

#include "tracesmith.h"
#include "../gpu/records.h"

#include <pthread.h>

typedef struct ts__hip_way { // one of the interfaces
    const char *name;
    // Starts reporting. On failure returns false with the reason in `why`.
    bool (*start)(char *why, size_t room);
    void (*stop)(void);       // delivers complete records and ends
    void (*flush)(void);      // delivers complete records
    bool (*gone)(void);       // the library has ended and may not be called
    uint64_t (*now_ns)(void); // the clock of its times
    bool operations;          // reports operations, not only calls
} ts__hip_way;

typedef enum ts__hip_cause {
    TS__HIP_ZERO_TIMES,
    TS__HIP_REVERSED,
    TS__HIP_DROPPED,
    TS__HIP_TOO_SHORT,
    TS__HIP_TAIL,
    TS__HIP_UNREPORTED,
    TS__HIP_MEMORY,
    TS__HIP_UNPLACED
} ts__hip_cause;

enum { TS__HIP_DEVICES = 64, TS__HIP_STREAMS = 4096, TS__HIP_NOTES = 1 << 15 };

typedef struct ts__hip_device {
    uint64_t id; // the interface's id
    uint32_t track;
    char architecture[28]; // "": unknown
} ts__hip_device;

typedef struct ts__hip_stream { // a stream or hardware queue
    uint32_t number;            // unique in the process; 0: the slot is free
    uint32_t track;             // 0: no operation so far
    uint64_t handle;
    uint64_t born, gone; // begin and end of its life, in ticks
    uint32_t device, flags;
    int32_t priority;
    uint32_t is_queue;
    uint32_t made; // its creation was seen, so its device is known
} ts__hip_stream;

static struct {
    const ts__hip_way *way;
    uint32_t on;      // a session is active
    uint32_t dead;    // this is a child process after fork()
    uint32_t handles; // fork handlers are registered
    uint32_t exits;   // the exit handler is registered
    uint32_t left;    // the exit handler has run
    uint32_t session; // number of sessions so far
    uint32_t indices; // the interface identifies devices by index
    const char *lack; // what the interface in use lacks, NULL: nothing
    // A runtime without rocprofiler-sdk has called OnLoad.
    uint32_t loaded;
    uint32_t captures; // stream captures in progress
    uint64_t launches, kernels, without_launch, before_launch, dropped;
    // Launches during stream captures, and kernels among them.
    uint64_t captured, ran;
    ts__notes notes;   // by correlation
    ts__notes events;  // by handle: the last record of the event
    ts__worker worker; // the thread that calls the library
    uint64_t clock_ns; // time of the last sample, CLOCK_BOOTTIME
    pthread_mutex_t clock_lock;
    ts__follower time;
    ts__losses lost;
    pthread_mutex_t lock;                // protects the fields below
    uint32_t device_count, stream_count; // streams so far
    uint32_t named[TS__HIP_DEVICES][2];  // numbered streams and queues
    ts__hip_device devices[TS__HIP_DEVICES];
    ts__hip_stream stream[TS__HIP_STREAMS];
} ts__hip = { .clock_lock = PTHREAD_MUTEX_INITIALIZER,
              .lock = PTHREAD_MUTEX_INITIALIZER };

static const char *const ts__hip_texts[] = {
    "operations without times",
    "operations that end before they start",
    "dropped by the profiling library",
    "records of an unknown size",
    "not handed over in time at the end",
    "launches without a report of their kernel",
    "records lost because of insufficient memory",
    "operations on streams beyond the maximum number: recorded on the device",
    NULL
};

static bool ts__hip_listens(void)
{
    return TS__LOAD(&ts__hip.on) && !TS__LOAD(&ts__hip.dead);
}

static void ts__hip_lose(ts__hip_cause cause, uint64_t count)
{
    ts__lose(&ts__hip.lost, cause, 0, count);
}

// The child process has none of the threads and may not use the device.
static void ts__hip_forked(void)
{
    ts__hip.dead = 1;
    ts__worker_forked(&ts__hip.worker);
}

// Returns the HIP runtime that the program has loaded.
static void *ts__hip_runtime(void)
{
    return ts__library_present("libamdhip64.so");
}

static uint64_t ts__hip_boottime_ns(void)
{
    return ts__clock_now_ns(CLOCK_BOOTTIME);
}

static uint64_t ts__hip_now_ns(void *unused)
{
    (void)unused;
    return ts__hip.way->gone() ? 0 : ts__hip.way->now_ns();
}

// Samples the clock at most once a second, when records are delivered, on any
// thread.
static void ts__hip_clock_sample(bool always)
{
    const uint64_t now = ts__hip_boottime_ns();
    if ((!always && now - TS__LOAD(&ts__hip.clock_ns) < 1000000000u) ||
        pthread_mutex_trylock(&ts__hip.clock_lock) != 0)
        return;
    TS__STORE(&ts__hip.clock_ns, now);
    ts__follow(&ts__hip.time, true);
    pthread_mutex_unlock(&ts__hip.clock_lock);
}

#endif // TS__HIP_STATE_H
