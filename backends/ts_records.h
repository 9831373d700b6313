/*
    ts_records.h - what backends share that read a vendor's records

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Private: included by the implementations of other backends.

    WHAT IT DOES
        A vendor tells what an accelerator did in records that come later, on
        a thread of its own. Three things are the same for all of them: what
        was known on the thread that asked must be found again by the record's
        correlation; what is missing must be counted by its cause; and a call
        into the vendor's library that never returns must not stop the
        program.

    CONTENTS                            search for "==== 2." to jump
        1. Notes by correlation
        2. Losses by cause
        3. Calls that may hang
*/
// A file compiled with -std=c11 gets POSIX only if it asks for it.
#if defined(__STRICT_ANSI__) && !defined(_POSIX_C_SOURCE) && \
    !defined(_GNU_SOURCE) && !defined(_DEFAULT_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#ifndef TS_RECORDS_H
#define TS_RECORDS_H

#include "tracesmith.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TS__RECORDS static __attribute__((unused))

/* ==== 1. Notes by correlation ============================================ */

/*
    A table of a fixed size without locks. A note stays until another one needs
    its place, `count` numbers later; so whoever reads it need not remove it,
    and one call may be found by many records.

        slot: turn | correlation | words of the note

    `turn` is odd while the slot is being written. A reader copies the words
    and looks at `turn` again.
*/
typedef struct ts__notes {
    uint64_t *slots;
    uint32_t count; // power of two
    uint32_t words; // of a note
    uint64_t lost;  // two threads wanted one slot at the same moment
} ts__notes;

// count: power of two. note_size: a multiple of 8. Costs no memory until used.
TS__RECORDS bool ts__notes_open(ts__notes *notes, uint32_t count,
                                size_t note_size)
{
    notes->words = (uint32_t)(note_size / 8);
    notes->count = count;
    notes->slots = (uint64_t *)calloc(count, (notes->words + 2) * 8u);
    return notes->slots != NULL;
}

static inline uint64_t *ts__notes_slot(const ts__notes *notes, uint64_t key)
{
    return notes->slots + (key & (notes->count - 1)) * (notes->words + 2);
}

// key: not 0. Threads: any.
TS__RECORDS void ts__notes_put(ts__notes *notes, uint64_t key, const void *note)
{
    uint64_t *const slot = ts__notes_slot(notes, key);
    uint64_t turn = TS__LOAD(&slot[0]), word;
    if ((turn & 1) ||
        !__atomic_compare_exchange_n(&slot[0], &turn, turn + 1, false,
                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        __atomic_add_fetch(&notes->lost, 1, __ATOMIC_RELAXED);
        return;
    }
    // release: who sees one of the words sees that the turn was odd; pairs
    // with the acquires in ts__notes_get
    __atomic_store_n(&slot[1], key, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < notes->words; i++) {
        memcpy(&word, (const char *)note + i * 8u, 8);
        __atomic_store_n(&slot[2 + i], word, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&slot[0], turn + 2, __ATOMIC_RELEASE);
}

// False: it is not known, or no longer. Threads: any.
TS__RECORDS bool ts__notes_get(const ts__notes *notes, uint64_t key, void *note)
{
    if (!key || !notes->slots) return false;
    const uint64_t *const slot = ts__notes_slot(notes, key);
    const uint64_t turn = __atomic_load_n(&slot[0], __ATOMIC_ACQUIRE);
    if ((turn & 1) || __atomic_load_n(&slot[1], __ATOMIC_ACQUIRE) != key)
        return false;
    for (uint32_t i = 0; i < notes->words; i++) {
        const uint64_t word = __atomic_load_n(&slot[2 + i], __ATOMIC_ACQUIRE);
        memcpy((char *)note + i * 8u, &word, 8);
    }
    return TS__LOAD(&slot[0]) == turn;
}

/* ==== 2. Losses by cause ================================================= */

typedef struct ts__shortfall { // records that are missing for one cause
    const char *detail;
    uint64_t count, first, last; // ticks of clock 0
} ts__shortfall;

// Threads: any. The range is as exact as two threads leave it.
TS__RECORDS void ts__lose(ts__shortfall *lost, uint64_t count)
{
    const uint64_t now = ts_tick_now();
    if (!TS__LOAD(&lost->count)) TS__STORE(&lost->first, now);
    TS__STORE(&lost->last, now);
    __atomic_add_fetch(&lost->count, count, __ATOMIC_RELAXED);
}

// Puts into the ledger what has come since the last time.
TS__RECORDS void ts__shortfall_report(ts__shortfall *lost, size_t causes,
                                      uint32_t track)
{
    for (size_t i = 0; i < causes; i++) {
        const uint64_t first = TS__LOAD(&lost[i].first);
        const uint64_t last = TS__LOAD(&lost[i].last);
        const uint64_t count =
            __atomic_exchange_n(&lost[i].count, 0, __ATOMIC_RELAXED);
        if (count)
            ts_loss_report(track, TS_LOSS_BACKEND, lost[i].detail, count, first,
                           last);
    }
}

/* ==== 3. Calls that may hang ============================================= */

typedef struct ts__bounded { // freed by the last of the two threads
    pthread_mutex_t lock;
    pthread_cond_t ended;
    void (*function)(void *);
    void *argument;
    uint32_t holders;
    bool done;
} ts__bounded;

static void ts__bounded_drop(ts__bounded *call)
{
    if (__atomic_sub_fetch(&call->holders, 1, __ATOMIC_ACQ_REL)) return;
    pthread_mutex_destroy(&call->lock);
    pthread_cond_destroy(&call->ended);
    free(call);
}

static void *ts__bounded_run(void *argument)
{
    ts__bounded *const call = (ts__bounded *)argument;
    call->function(call->argument);
    pthread_mutex_lock(&call->lock);
    call->done = true;
    pthread_cond_signal(&call->ended);
    pthread_mutex_unlock(&call->lock);
    ts__bounded_drop(call);
    return NULL;
}

static bool ts__bounded_wait(ts__bounded *call, uint32_t limit_ms)
{
    struct timespec until;
    int result = 0;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += limit_ms / 1000;
    until.tv_nsec += (long)(limit_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000)
        until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_mutex_lock(&call->lock);
    while (!call->done && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&call->ended, &call->lock, &until);
    const bool done = call->done;
    pthread_mutex_unlock(&call->lock);
    return done;
}

// Starts a thread that nobody waits for and that no signal reaches.
TS__RECORDS bool ts__detached_start(void *(*function)(void *), void *argument)
{
    pthread_attr_t detached;
    pthread_t thread;
    sigset_t all, old;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    sigfillset(&all); // the program's signals are none of its business
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int result = pthread_create(&thread, &detached, function, argument);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&detached);
    return result == 0;
}

static bool ts__bounded_start(ts__bounded *call)
{
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&call->lock, NULL);
    pthread_cond_init(&call->ended, &clock);
    pthread_condattr_destroy(&clock);
    return ts__detached_start(ts__bounded_run, call);
}

/*
    Calls function(argument) on a thread of its own and waits for it, but not
    for longer than limit_ms. False: it was not done by then. It may go on for
    as long as the process, so `argument` must live as long.
*/
TS__RECORDS bool ts__call_bounded(void (*function)(void *), void *argument,
                                  uint32_t limit_ms)
{
    ts__bounded *const call = (ts__bounded *)calloc(1, sizeof *call);
    if (!call) return false;
    call->function = function;
    call->argument = argument;
    call->holders = 2;
    const bool started = ts__bounded_start(call);
    if (!started) call->holders = 1;
    const bool done = started && ts__bounded_wait(call, limit_ms);
    ts__bounded_drop(call);
    return done;
}

#endif // TS_RECORDS_H
