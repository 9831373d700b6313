/*
    gpu/records.h - what backends share that read a vendor's records

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    A vendor reports operations in records that come later, on a thread of
    its own. The same for all vendors: the library is found at run time;
    notes of the launching thread are found by the record's correlation;
    missing records are counted by their cause; the vendor's clock is
    converted; and a call into the vendor's library that never returns must
    not stop the program.

    CONTENTS                            search for "==== 2." to jump
        1. Libraries
        2. Fields of records
        3. Notes by correlation
        4. Losses by cause
        5. A vendor's clock
        6. Calls that may hang
        7. Launches
*/
#ifndef TS__GPU_RECORDS_H
#define TS__GPU_RECORDS_H

#include "tracesmith.h"
#include "../ts_filter.h"
#include "collective.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef RTLD_NEXT
#error "gpu/records.h: define _GNU_SOURCE before any #include"
#endif

#define TS__RECORDS static __attribute__((unused))

/* ==== 1. Libraries ======================================================= */

typedef struct ts__mapped {
    const char *begins;  // the begin of the library's file name
    char path[PATH_MAX]; // path of the first loaded library with that name
} ts__mapped;

static int ts__mapped_next(struct dl_phdr_info *info, size_t size, void *user)
{
    ts__mapped *const search = (ts__mapped *)user;
    const char *const path = info->dlpi_name ? info->dlpi_name : "";
    const char *const slash = strrchr(path, '/');
    const char *const name = slash ? slash + 1 : path;
    (void)size;
    if (strncmp(name, search->begins, strlen(search->begins)) != 0) return 0;
    snprintf(search->path, sizeof search->path, "%s", path);
    return 1;
}

// Finds a loaded library by the begin of its file name. Returns false if none
// is loaded.
TS__RECORDS bool ts__mapped_find(ts__mapped *search, const char *begins)
{
    search->begins = begins;
    search->path[0] = 0;
    return dl_iterate_phdr(ts__mapped_next, search) != 0;
}

// Returns a handle of the library that is loaded, whatever its version, because
// two copies in a process would conflict. NULL: none is loaded. begins: as for
// ts__mapped_find.
TS__RECORDS void *ts__library_present(const char *begins)
{
    ts__mapped there;
    if (!ts__mapped_find(&there, begins)) return NULL;
    return dlopen(there.path, RTLD_LAZY | RTLD_NOLOAD);
}

// Loads the first library of the list that can be loaded; the list ends with
// NULL. It is never closed, because its threads may still run. NULL: none can
// be loaded.
TS__RECORDS void *ts__library_load(const char *const *names)
{
    void *library = NULL;
    while (!library && *names)
        library = dlopen(*names++, RTLD_NOW | RTLD_LOCAL);
    return library;
}

// Resolves the functions `names`, each with `prefix` in front, into `table`, in
// the order of the names. A leading '?' marks a function that may be absent.
// Returns the first missing name, or NULL.
TS__RECORDS const char *ts__library_resolve(void *library, const char *prefix,
                                            const char *const *names,
                                            void *table)
{
    const char *missing = NULL;
    for (size_t i = 0; names[i]; i++) {
        char text[96];
        const bool optional = names[i][0] == '?';
        snprintf(text, sizeof text, "%s%s", prefix, names[i] + optional);
        void *const found = dlsym(library, text);
        memcpy((char *)table + i * sizeof found, &found, sizeof found);
        if (!found && !optional && !missing) missing = names[i];
    }
    return missing;
}

/* ==== 2. Fields of records =============================================== */

// Fields may be unaligned, so they are copied.
static inline uint64_t ts__read64(const void *record, size_t offset)
{
    uint64_t value;
    memcpy(&value, (const char *)record + offset, sizeof value);
    return value;
}

static inline uint32_t ts__read32(const void *record, size_t offset)
{
    uint32_t value;
    memcpy(&value, (const char *)record + offset, sizeof value);
    return value;
}

static inline uint16_t ts__read16(const void *record, size_t offset)
{
    uint16_t value;
    memcpy(&value, (const char *)record + offset, sizeof value);
    return value;
}

static inline const char *ts__read_text(const void *record, size_t offset)
{
    const char *text;
    memcpy(&text, (const char *)record + offset, sizeof text);
    return text;
}

/* ==== 3. Notes by correlation ============================================ */

/*
    A lock-free table of fixed size. A note is kept until another one needs its
    slot, `count` correlation numbers later. So a reader need not remove it, and
    several records may find the same call.

    slot: sequence, waits, tag, then the note

    `sequence` is odd while the slot is being written. A reader copies the note
    and compares `sequence` before and after. `waits` is 1 while the note
    belongs to a launch whose operation has not been reported. `tag` holds the
    bits of the correlation that the slot's position does not: the tag is exact
    for up to 44 bits, which addresses have.
*/
typedef struct ts__note_head { // small, because programs make millions of calls
    uint16_t sequence, waits;
    uint32_t tag; // 0: the slot is free
} ts__note_head;

// Unrolled, so that a short note is kept in registers; clang does so by itself.
#if defined(__GNUC__) && !defined(__clang__)
#define TS__NOTE_UNROLL _Pragma("GCC unroll 4")
#else
#define TS__NOTE_UNROLL
#endif

typedef struct ts__notes {
    char *slots;
    uint32_t count;  // number of slots, a power of two
    uint32_t shift;  // log2 of `count`
    uint32_t stride; // bytes from one slot to the next
    uint64_t lost;   // notes lost because two threads wrote to one slot at once
    uint64_t unreported; // notes replaced before their operation was reported
} ts__notes;

// Makes an empty table of `count` notes (a power of two) of `size` bytes (a
// multiple of 8), or empties an existing one. Pages are allocated when they are
// first written. Returns false if there is no address space.
TS__RECORDS bool ts__notes_open(ts__notes *notes, uint32_t count, size_t size)
{
    const size_t stride = sizeof(ts__note_head) + size, all = count * stride;
    notes->lost = notes->unreported = 0;
    if (notes->slots) return madvise(notes->slots, all, MADV_DONTNEED) == 0;
    void *const slots =
        mmap(NULL, all, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (slots == MAP_FAILED) return false;
    notes->slots = (char *)slots;
    notes->count = count;
    notes->shift = (uint32_t)__builtin_ctz(count);
    notes->stride = (uint32_t)stride;
    return true;
}

static inline ts__note_head *ts__notes_slot(const ts__notes *notes, size_t size,
                                            uint64_t key)
{
    return (ts__note_head *)(notes->slots + (key & (notes->count - 1)) *
                                                (sizeof(ts__note_head) + size));
}

static inline uint32_t ts__notes_tag(const ts__notes *notes, uint64_t key)
{
    return (uint32_t)(key >> notes->shift ^ key >> 44) + 1;
}

// Stores a note under a key other than 0. size: as for ts__notes_open, and a
// constant, so that the copy is unrolled. waits: an operation with this key
// will be reported. Threads: any.
static inline void ts__notes_put(ts__notes *notes, uint64_t key,
                                 const void *note, size_t size, bool waits)
{
    ts__note_head *const head = ts__notes_slot(notes, size, key);
    uint64_t *const words = (uint64_t *)(head + 1);
    // A writer that finds it odd gives up; the other writer sets the next
    // number.
    const uint16_t sequence =
        __atomic_exchange_n(&head->sequence, 1, __ATOMIC_RELAXED);
    const uint32_t tag = ts__notes_tag(notes, key);
    if (TS__UNLIKELY(sequence & 1)) {
        __atomic_add_fetch(&notes->lost, 1, __ATOMIC_RELAXED);
        return;
    }
    if (TS__UNLIKELY(TS__LOAD(&head->waits)) && TS__LOAD(&head->tag) != tag)
        __atomic_add_fetch(&notes->unreported, 1, __ATOMIC_RELAXED);
    TS__STORE(&head->waits, (uint16_t)waits);
    // release: a reader that sees one of the words sees that the sequence was
    // odd; pairs with the acquires in ts__notes_get
    __atomic_store_n(&head->tag, tag, __ATOMIC_RELEASE);
    TS__NOTE_UNROLL
    for (size_t i = 0; i < size / 8; i++) {
        uint64_t word;
        memcpy(&word, (const char *)note + i * 8, 8);
        __atomic_store_n(&words[i], word, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&head->sequence, (uint16_t)(sequence + 2),
                     __ATOMIC_RELEASE);
}

// Copies the note of a key. Returns false if there is none or it was replaced.
// reported: clears `waits`, because the operation was reported. Threads: any.
static inline bool ts__notes_get(const ts__notes *notes, uint64_t key,
                                 void *note, size_t size, bool reported)
{
    if (!key || !notes->slots) return false;
    ts__note_head *const head = ts__notes_slot(notes, size, key);
    const uint64_t *const words = (const uint64_t *)(head + 1);
    const uint16_t sequence =
        __atomic_load_n(&head->sequence, __ATOMIC_ACQUIRE);
    if ((sequence & 1) || __atomic_load_n(&head->tag, __ATOMIC_ACQUIRE) !=
                              ts__notes_tag(notes, key))
        return false;
    TS__NOTE_UNROLL
    for (size_t i = 0; i < size / 8; i++) {
        const uint64_t word = __atomic_load_n(&words[i], __ATOMIC_ACQUIRE);
        memcpy((char *)note + i * 8, &word, 8);
    }
    if (reported) TS__STORE(&head->waits, 0);
    return TS__LOAD(&head->sequence) == sequence;
}

// Returns whether nothing was stored under a key, where keys increase: its slot
// is free or has an older one. False if a note was lost: then nobody knows.
TS__RECORDS bool ts__notes_never(const ts__notes *notes, uint64_t key,
                                 size_t size)
{
    if (!key || !notes->slots || TS__LOAD(&notes->lost)) return false;
    const ts__note_head *const head = ts__notes_slot(notes, size, key);
    return !(TS__LOAD(&head->sequence) & 1) &&
           TS__LOAD(&head->tag) < ts__notes_tag(notes, key);
}

// Clears `waits`: no operation with this key will be reported.
TS__RECORDS void ts__notes_settle(const ts__notes *notes, uint64_t key,
                                  size_t size)
{
    ts__note_head *const head = ts__notes_slot(notes, size, key);
    if (TS__LOAD(&head->tag) == ts__notes_tag(notes, key))
        TS__STORE(&head->waits, 0);
}

// Returns how many notes wait for their operation. Reads the whole table.
TS__RECORDS uint64_t ts__notes_waiting(const ts__notes *notes)
{
    uint64_t waiting = 0;
    for (uint32_t i = 0; notes->slots && i < notes->count; i++)
        waiting += TS__LOAD(
            &((ts__note_head *)(notes->slots + (size_t)i * notes->stride))
                 ->waits);
    return waiting;
}

/* ==== 4. Losses by cause ================================================= */

typedef struct ts__losses {   // missing records
    const char *vendor;       // prefix of each text
    const char *const *texts; // a text for each cause; NULL at the end
    uint64_t from;      // begin of the reported interval, in ticks of clock 0
    uint64_t count[16]; // by cause
    uint32_t track[16];
} ts__losses;

// Resets all counts at the begin of a session.
TS__RECORDS void ts__losses_begin(ts__losses *lost)
{
    memset(lost->count, 0, sizeof lost->count);
    lost->from = ts_tick_now();
}

// Counts `count` losses of a cause on a track (0: none). Threads: any.
TS__RECORDS void ts__lose(ts__losses *lost, uint32_t cause, uint32_t track,
                          uint64_t count)
{
    // If losses are on several tracks, they are reported without a track.
    if (TS__LOAD(&lost->count[cause]) && TS__LOAD(&lost->track[cause]) != track)
        track = 0;
    TS__STORE(&lost->track[cause], track);
    __atomic_add_fetch(&lost->count[cause], count, __ATOMIC_RELAXED);
}

// Writes the losses since the last report to the trace.
TS__RECORDS void ts__losses_report(ts__losses *lost)
{
    const uint64_t now = ts_tick_now();
    for (uint32_t i = 0; lost->texts[i]; i++) {
        char text[128];
        const uint32_t track = TS__LOAD(&lost->track[i]);
        const uint64_t count =
            __atomic_exchange_n(&lost->count[i], 0, __ATOMIC_RELAXED);
        if (!count) continue;
        snprintf(text, sizeof text, "%s: %s", lost->vendor, lost->texts[i]);
        ts_loss_report(track, TS_LOSS_BACKEND, text, count, lost->from, now);
    }
    lost->from = now;
}

/* ==== 5. A vendor's clock ================================================ */

TS__RECORDS uint64_t ts__clock_now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

typedef struct ts__pair { // simultaneous readings of two clocks
    uint64_t tick, ns;
    uint64_t width; // ticks that the reading took
} ts__pair;

typedef struct ts__follower {
    // Returns 0 if the clock is not available now.
    uint64_t (*now_ns)(void *user);
    void *user;
    // Name of the clock that replaces it after it was set back.
    const char *name;
    uint32_t clock; // number of the clock in the trace
    // Number of the clock before it was just set back; 0: it was not.
    uint32_t before;
    bool exact; // the clock is CLOCK_MONOTONIC_RAW
    ts__pair first, last;
    double rate;     // ticks of clock 0 per nanosecond
    uint64_t narrow; // ticks of the fastest reading, 0: none yet
    // Times of the last sample and reading, CLOCK_MONOTONIC_RAW.
    uint64_t sampled_ns, looked_ns;
    uint64_t reported_ns; // time of the last sample written
    uint32_t steps;       // how often the clock was set
    uint32_t sequence;    // odd while `shown` is being written
    uint64_t shown[3];    // a ts__line for other threads
} ts__follower;

typedef struct ts__line { // the last reading of both clocks and their rate
    uint64_t tick, ns;
    double rate; // ticks per nanosecond
} ts__line;

// Starts following a clock in a session. clock: its number in the trace. exact:
// the clock is CLOCK_MONOTONIC_RAW.
TS__RECORDS void ts__follow_begin(ts__follower *f, uint32_t clock, bool exact)
{
    f->clock = clock;
    f->exact = exact;
    memset(&f->first, 0, sizeof f->first);
    memset(&f->last, 0, sizeof f->last);
    f->steps = f->before = 0;
    f->reported_ns = 0;
    if (f->rate <= 0) f->rate = 1;
}

// Writes a sample to the trace. Samples of one clock must increase. An exact
// clock gets only one.
static void ts__follow_report(ts__follower *f, const ts__pair *pair)
{
    if (pair->ns <= f->reported_ns || (f->exact && f->reported_ns)) return;
    f->reported_ns = pair->ns;
    const double half_ns = (double)pair->width / 2 / f->rate;
    ts_clock_sample(f->clock, pair->ns, f->exact ? 0 : pair->tick,
                    f->exact ? 0 : (uint64_t)half_ns);
}

// Reports that times are lost because the trace cannot hold another clock.
static void ts__follow_lost(const ts__follower *f)
{
    char text[128];
    const uint64_t now = ts_tick_now();
    snprintf(text, sizeof text,
             "%s: times of all operations from here on: its clock was set back "
             "too often",
             f->name);
    ts_loss_report(0, TS_LOSS_BACKEND, text, 1, now, now);
}

// Handles a clock that was set since the last reading. If it was set back, a
// new clock of the trace replaces it. Returns whether it was set back.
static bool ts__follow_stepped(ts__follower *f, uint64_t now_ns)
{
    ts__follow_report(f, &f->last);
    f->steps++;
    f->first.tick = 0;
    if (now_ns > f->last.ns) return false;
    const uint32_t other = ts_clock_define(f->name);
    if (!other) { // the samples of this clock end here
        ts__follow_lost(f);
        return true;
    }
    f->before = f->clock;
    TS__STORE(&f->clock, other);
    f->reported_ns = 0;
    return true;
}

// Reads both clocks and CLOCK_MONOTONIC_RAW and keeps the closest of several
// readings; tries more often if the thread is preempted.
static bool ts__follow_read(ts__follower *f, ts__pair *pair, uint64_t *raw_ns)
{
    uint64_t best = UINT64_MAX;
    const int tries = f->narrow ? 5 : 20;
    for (int i = 0; i < tries || (i < 50 && best / 4 > f->narrow); i++) {
        const uint64_t start = ts_tick_now();
        const uint64_t raw = ts__clock_now_ns(CLOCK_MONOTONIC_RAW);
        const uint64_t before = ts_tick_now();
        const uint64_t ns = f->now_ns(f->user);
        const uint64_t after = ts_tick_now();
        if (!ns) return false;
        if (after - start >= best) continue;
        best = after - start;
        *raw_ns = raw;
        pair->tick = before + (after - before) / 2;
        pair->ns = ns;
        pair->width = after - before;
    }
    if (!f->narrow || best < f->narrow) f->narrow = best ? best : 1;
    return true;
}

// Publishes the reading for other threads, which call ts__follow_line.
static void ts__follow_show(ts__follower *f)
{
    const ts__line line = { f->last.tick, f->last.ns, f->rate };
    uint64_t words[3];
    memcpy(words, &line, sizeof words);
    __atomic_store_n(&f->sequence, f->sequence + 1, __ATOMIC_RELAXED);
    // release: a reader that sees a word sees that the sequence was odd
    for (int i = 0; i < 3; i++)
        __atomic_store_n(&f->shown[i], words[i], __ATOMIC_RELEASE);
    __atomic_store_n(&f->sequence, f->sequence + 1, __ATOMIC_RELEASE);
}

// Samples the clock and writes the sample once a second. Returns true if the
// clock was set back; times by it then begin anew. Threads: one at a time.
TS__RECORDS bool ts__follow(ts__follower *f, bool always)
{
    ts__pair pair = { 0, 0, 0 };
    uint64_t now = 0;
    bool back = false;
    // The last reading remains valid.
    if (!ts__follow_read(f, &pair, &now)) return false;
    const uint64_t passed = now - f->looked_ns;
    const int64_t step = (int64_t)(pair.ns - f->last.ns) - (int64_t)passed;
    // Adjusting the rate of a clock (slewing) cannot make it differ by more.
    const int64_t most = 1000000 + (int64_t)passed / 1000;
    f->before = 0;
    if (f->last.tick && (step > most || step < -most)) {
        back = ts__follow_stepped(f, pair.ns);
        always = true;
    }
    f->looked_ns = now;
    if (!f->first.tick) f->first = pair;
    f->last = pair;
    const uint64_t ns = pair.ns - f->first.ns;
    // Right after a step the old rate is kept.
    if (ns) f->rate = (double)(pair.tick - f->first.tick) / (double)ns;
    ts__follow_show(f);
    if (!always && now - f->sampled_ns < 1000000000u) return back;
    f->sampled_ns = now;
    ts__follow_report(f, &pair);
    return back;
}

// Returns the clock of the trace for a time in a record. A time after the last
// reading was taken before the clock was set back.
static inline uint32_t ts__follow_clock_of(const ts__follower *f, uint64_t ns)
{
    return TS__UNLIKELY(f->before) && ns > f->last.ns ? f->before : f->clock;
}

// Converts a time of the vendor's clock to a tick of clock 0. Only on the
// thread that samples.
TS__RECORDS uint64_t ts__follow_tick(const ts__follower *f, uint64_t ns)
{
    const double ticks = (double)(int64_t)(ns - f->last.ns) * f->rate;
    return f->last.tick + (uint64_t)(int64_t)ticks;
}

// Converts a tick of clock 0 to a time of the vendor's clock. Only on the
// thread that samples.
TS__RECORDS uint64_t ts__follow_ns(const ts__follower *f, uint64_t tick)
{
    const double ns = (double)(int64_t)(tick - f->last.tick) / f->rate;
    return f->last.ns + (uint64_t)(int64_t)ns;
}

// Returns whether a time of the vendor's clock is before a tick of clock 0.
static inline bool ts__line_before(const ts__line *line, uint64_t ns,
                                   uint64_t tick)
{
    return (double)(int64_t)(ns - line->ns) * line->rate <
           (double)(int64_t)(tick - line->tick);
}

// Returns the same. Only on the thread that samples.
static inline bool ts__follow_before(const ts__follower *f, uint64_t ns,
                                     uint64_t tick)
{
    const ts__line line = { f->last.tick, f->last.ns, f->rate };
    return ts__line_before(&line, ns, tick);
}

// Gets the last reading; any thread may call it. Returns false if it is being
// written.
static inline bool ts__follow_line(const ts__follower *f, ts__line *line)
{
    uint64_t words[3];
    // acquire: pairs with the releases in ts__follow_show
    const uint32_t sequence = __atomic_load_n(&f->sequence, __ATOMIC_ACQUIRE);
    for (int i = 0; i < 3; i++)
        words[i] = __atomic_load_n(&f->shown[i], __ATOMIC_ACQUIRE);
    memcpy(line, words, sizeof *line);
    return !(sequence & 1) && TS__LOAD(&f->sequence) == sequence;
}

/* ==== 6. Calls that may hang ============================================= */

// A vendor's library is called on a separate thread, and other threads wait for
// that one for a bounded time. If a call does not return, its thread is
// abandoned, and no session begins until the call returns. The functions run
// one at a time; `user` is valid until the process ends.
typedef struct ts__worker {
    void (*fetch)(void *user); // delivers the complete records
    // Does pending work and returns whether there was any; may be NULL.
    bool (*more)(void *user);
    void (*finish)(void *user); // delivers the remaining records and ends
    void *user;
    uint32_t period_ms; // time between two fetches
    uint32_t limit_ms;  // how long other threads wait for a call
    pthread_t thread;
    uint32_t number;   // the thread in use, 0: none
    uint32_t count;    // threads started so far
    uint32_t finished; // the last thread that ended
    uint32_t hung;     // the abandoned thread
    // Futex words: for the worker and for the waiting threads.
    uint32_t wake, done;
    uint32_t requested, answered; // numbers of fetches
    uint32_t stopping;
} ts__worker;

// Increments the word and wakes the threads that wait for it. Threads: any,
// also signal handlers.
TS__RECORDS void ts__worker_wake(uint32_t *word)
{
    // release: pairs with the acquire in ts__worker_wait
    __atomic_fetch_add(word, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

// Waits until the word differs from `seen`, at most `ms` milliseconds.
static void ts__worker_wait(uint32_t *word, uint32_t seen, uint64_t ms)
{
    struct timespec t;
    t.tv_sec = (time_t)(ms / 1000);
    t.tv_nsec = (long)(ms % 1000) * 1000000;
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) == seen)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, &t, NULL, 0);
}

// Called on the worker thread: returns whether the session has abandoned it.
// Then it must not touch the session's data, which others use now.
TS__RECORDS bool ts__worker_left(const ts__worker *w)
{
    return !TS__LOAD(&w->number);
}

static void ts__worker_rounds(ts__worker *w)
{
    uint64_t fetched = ts__clock_now_ns(CLOCK_MONOTONIC);
    while (!ts__worker_left(w)) {
        const uint32_t seen = __atomic_load_n(&w->wake, __ATOMIC_ACQUIRE);
        const uint32_t requested =
            __atomic_load_n(&w->requested, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&w->stopping, __ATOMIC_ACQUIRE)) break;
        const uint64_t now = ts__clock_now_ns(CLOCK_MONOTONIC);
        if (requested != w->answered ||
            now - fetched >= w->period_ms * UINT64_C(1000000)) {
            w->fetch(w->user);
            fetched = now;
            TS__STORE(&w->answered, requested);
            ts__worker_wake(&w->done);
        } else if (!w->more || !w->more(w->user)) {
            ts__worker_wait(&w->wake, seen, w->period_ms);
        }
    }
}

static void *ts__worker_run(void *user)
{
    ts__worker *const w = (ts__worker *)user;
    const uint32_t number = w->count;
    pthread_setname_np(pthread_self(), "ts-capture");
    ts_thread_name("TraceSmith capture");
    ts__worker_rounds(w);
    w->finish(w->user);
    // Sequentially consistent, so that this thread or ts__worker_stop, which
    // stores and loads these in the opposite order, sees the other's store.
    __atomic_store_n(&w->finished, number, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&w->hung, __ATOMIC_SEQ_CST) == number)
        __atomic_store_n(&w->hung, 0, __ATOMIC_RELEASE);
    ts__worker_wake(&w->done);
    return NULL;
}

// Waits until *word is `value`, for a bounded time.
static bool ts__worker_await(ts__worker *w, const uint32_t *word,
                             uint32_t value)
{
    const uint64_t end =
        ts__clock_now_ns(CLOCK_MONOTONIC) + w->limit_ms * UINT64_C(1000000);
    for (;;) {
        const uint32_t seen = __atomic_load_n(&w->done, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value) return true;
        const uint64_t now = ts__clock_now_ns(CLOCK_MONOTONIC);
        if (now >= end) return false;
        ts__worker_wait(&w->done, seen, (end - now) / 1000000 + 1);
    }
}

// Starts the thread. Returns false if it cannot be created. An abandoned thread
// must have returned before.
TS__RECORDS bool ts__worker_start(ts__worker *w)
{
    sigset_t all, old;
    w->stopping = 0;
    TS__STORE(&w->number, ++w->count);
    sigfillset(&all); // the thread takes none of the program's signals
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int error = pthread_create(&w->thread, NULL, ts__worker_run, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error) TS__STORE(&w->number, 0);
    return error == 0;
}

// Requests a fetch and waits for it. Returns false if it timed out or no thread
// runs.
TS__RECORDS bool ts__worker_flush(ts__worker *w)
{
    if (!TS__LOAD(&w->number)) return false;
    const uint32_t requested =
        __atomic_add_fetch(&w->requested, 1, __ATOMIC_RELEASE);
    ts__worker_wake(&w->wake);
    return ts__worker_await(w, &w->answered, requested);
}

// Ends the thread and waits for it. Returns false if the thread was abandoned
// or does not run.
TS__RECORDS bool ts__worker_stop(ts__worker *w)
{
    const uint32_t number = TS__LOAD(&w->number);
    if (!number) return false;
    // Another thread may already be stopping it, as when the program ends
    // meanwhile. Only one of them joins the thread.
    if (__atomic_exchange_n(&w->stopping, 1, __ATOMIC_ACQ_REL))
        return ts__worker_await(w, &w->finished, number);
    ts__worker_wake(&w->wake);
    const bool done = ts__worker_await(w, &w->finished, number);
    TS__STORE(&w->number, 0);
    if (done)
        pthread_join(w->thread, NULL);
    else
        pthread_detach(w->thread);
    if (!done) __atomic_store_n(&w->hung, number, __ATOMIC_SEQ_CST);
    // The thread ended just now, before it could see that it was abandoned.
    if (!done && __atomic_load_n(&w->finished, __ATOMIC_SEQ_CST) == number)
        TS__STORE(&w->hung, 0);
    return done;
}

// Returns whether an abandoned thread has not returned yet. acquire: pairs with
// the release in ts__worker_run
TS__RECORDS bool ts__worker_hangs(const ts__worker *w)
{
    return __atomic_load_n(&w->hung, __ATOMIC_ACQUIRE) != 0;
}

// Called in a child process after fork(), where the thread does not exist.
TS__RECORDS void ts__worker_forked(ts__worker *w)
{
    w->number = 0;
}

/* ==== 7. Launches ======================================================== */

// A cache of launches, because programs launch few kernels often. Eight words
// distinguish one launch from another. If the slot holds another launch, the
// trace's dictionary is searched. For one thread at a time.
typedef struct ts__launch { // a kernel as it was last launched
    uint64_t key[8];
    uint32_t epoch; // changes if the words' meaning does; 0: free
    uint32_t launch;
    uint32_t collective; // name id of the collective; 0: a plain kernel
    uint16_t element;    // element type of the collective
    bool unrequested;    // the filter excludes it
} ts__launch;

// Returns the hash of a key; its low bits select a slot.
static inline uint64_t ts__launch_hash(const uint64_t key[8])
{
    const uint64_t a = (key[0] ^ key[2]) * 0x9E3779B97F4A7C15u;
    const uint64_t b = (key[1] ^ key[3] << 7) * 0xC2B2AE3D27D4EB4Fu;
    const uint64_t c = (key[4] ^ key[5] ^ key[6]) * 0x165667B19E3779F9u;
    const uint64_t hash = (a ^ a >> 29) + (b ^ b >> 31) + c;
    return hash ^ hash >> 40;
}

static inline bool ts__launch_is(const ts__launch *l, const uint64_t key[8],
                                 uint32_t epoch)
{
    // Not a loop: a loop would reload words that were only just stored.
    return !((l->epoch ^ epoch) | (l->key[0] ^ key[0]) | (l->key[1] ^ key[1]) |
             (l->key[2] ^ key[2]) | (l->key[3] ^ key[3]) |
             (l->key[4] ^ key[4]) | (l->key[5] ^ key[5]) |
             (l->key[6] ^ key[6]) | (l->key[7] ^ key[7]));
}

// Decides by the kernel's name whether it is requested and whether it is a
// collective.
TS__RECORDS void ts__launch_read(ts__launch *l, const char *name)
{
    const size_t size = strlen(name);
    const bool collective = ts_collective_is_kernel(name, size);
    l->collective = 0;
    l->unrequested =
        !ts_filter_name(name, size) ||
        !ts_filter_kind(collective ? TS_EVENT_COLLECTIVE : TS_EVENT_KERNEL);
    if (!collective || l->unrequested) return;
    const char *const kind = ts_collective_kind(name, size);
    ts_collective_name plain;
    ts_collective_plain(&plain, name, size);
    l->collective = kind ? ts_name_define(kind)
                         : ts_name_define_sized(plain.text, plain.size);
    l->element = (uint16_t)ts_collective_kernel_element(name, size);
}

// Fills a collective with what the name of its kernel contains.
TS__RECORDS void ts__launch_collective(const ts__launch *l, ts_gpu_op *op)
{
    op->kind = TS_EVENT_COLLECTIVE;
    memset(&op->u, 0, sizeof op->u);
    op->u.collective.name = l->collective;
    op->u.collective.type = l->element;
    op->u.collective.launch = l->launch;
}

#endif // TS__GPU_RECORDS_H
