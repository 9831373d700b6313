/*
    capture/options.h - the options of a capture, and when it begins and
    ends

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Captures begin and end by a call, with a session, at the end of a frame,
    after a number of operations, by a trigger.

        off --start--> on --stop, frames, operations, trigger--> off
        off --arm--> armed --trigger--> on, or
                           --trigger--> waits --frame--> on --> armed

    CONTENTS                            search for "==== 2." to jump
        1. Beginning and ending
        2. Options as text
        3. Selected operations
*/
#include "../ts_capture.h" // all of it, in its order

#ifndef TS__CAPTURE_OPTIONS_H
#define TS__CAPTURE_OPTIONS_H

#include "tracesmith.h"
#include "../ts_filter.h"
#include "memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ==== 1. Beginning and ending ============================================ */

static inline bool ts__cap_fits(const char *text, size_t room)
{
    return !text || strlen(text) < room;
}

static inline void ts__cap_copy(char *to, const char **text)
{
    const size_t size = *text ? strlen(*text) : 0;
    // The text may already be in this buffer.
    if (size) memmove(to, *text, size);
    to[size] = 0;
    *text = size ? to : NULL;
}

// Reports the figures of a capture. The caller does not hold `lock`, because
// the session takes its own lock.
static inline void ts__cap_report(const ts_capture_figures *f,
                                  uint32_t captures)
{
    ts_metadata_int(0, "capture.captures", captures);
    ts_metadata_int(0, "capture.whole", (int64_t)f->whole);
    ts_metadata_int(0, "capture.hashes_only", (int64_t)f->hashes);
    ts_metadata_int(0, "capture.declined", (int64_t)f->declined);
    ts_metadata_int(0, "capture.kept_bytes", (int64_t)f->kept_bytes);
    if (f->device_bytes)
        ts_metadata_int(0, "capture.device_hashed_bytes",
                        (int64_t)f->device_bytes);
}

// The caller holds `lock`.
static inline void ts__cap_begin(ts__cap_state *s)
{
    s->frames_left = s->desc.frames;
    s->admitted = 0;
    memset(&s->figures, 0, sizeof s->figures);
    if (s->launches)
        memset(s->launches, 0, s->launch_room * sizeof *s->launches);
    TS__STORE(&s->waits, 0);
    // release: a thread that sees the capture on also sees its options
    __atomic_store_n(&s->on, ++s->captures, __ATOMIC_RELEASE);
}

static inline void ts__cap_add(ts_capture_figures *sums,
                               const ts_capture_figures *f)
{
    sums->whole += f->whole;
    sums->hashes += f->hashes;
    sums->declined += f->declined;
    sums->kept_bytes += f->kept_bytes;
    sums->device_bytes += f->device_bytes;
}

// The caller holds `lock`, and reports the ended capture after it unlocks.
static inline void ts__cap_end_now(ts__cap_state *s)
{
    ts__cap_add(&s->sums, &s->figures);
    s->ended++;
    TS__STORE(&s->on, 0);
}

static inline uint32_t ts__cap_enter(ts__cap_state *s)
{
    pthread_mutex_lock(&s->lock);
    return s->ended;
}

// Unlocks, then reports the capture that ended since ts__cap_enter.
static inline void ts__cap_leave(ts__cap_state *s, uint32_t before)
{
    const uint32_t ended = s->ended;
    const ts_capture_figures sums = s->sums;
    pthread_mutex_unlock(&s->lock);
    if (ended != before) ts__cap_report(&sums, ended);
}

// Runs `what` with the lock held.
static inline void ts__cap_change(void (*what)(ts__cap_state *s))
{
    ts__cap_state *const s = &ts__cap_now;
    const uint32_t before = ts__cap_enter(s);
    what(s);
    ts__cap_leave(s, before);
}

static inline void ts__cap_do_stop(ts__cap_state *s)
{
    if (s->on) ts__cap_end_now(s);
    TS__STORE(&s->waits, 0);
    s->armed = false;
}

TS__WEAK_API void ts_capture_stop(void)
{
    ts__cap_change(ts__cap_do_stop);
}

static inline void ts__cap_do_frame(ts__cap_state *s)
{
    if (s->waits)
        ts__cap_begin(s);
    else if (s->on && s->frames_left && !--s->frames_left)
        ts__cap_end_now(s);
}

TS__WEAK_API void ts_capture_frame(void)
{
    if (ts_capture_on() || TS__LOAD(&ts__cap_now.waits))
        ts__cap_change(ts__cap_do_frame);
}

static inline void ts__cap_do_trigger(ts__cap_state *s)
{
    if (s->on) {
        ts__cap_end_now(s);
    } else if (s->armed && s->desc.frames) {
        TS__STORE(&s->waits, !s->waits);
    } else if (s->armed) {
        ts__cap_begin(s);
    }
}

TS__WEAK_API void ts_capture_trigger(void)
{
    ts__cap_change(ts__cap_do_trigger);
}

// Called after an operation was captured.
static inline void ts__cap_do_operation(ts__cap_state *s)
{
    if (s->on && s->desc.operations && s->admitted >= s->desc.operations)
        ts__cap_end_now(s);
}

// Called when a selected operation did not run.
static inline void ts__cap_do_drop(ts__cap_state *s)
{
    if (s->on && s->admitted) s->admitted--;
}

/* ---- 1.1 Sessions and forks --------------------------------------------- */

// Takes the lock for fork(), so that no thread that the child lacks holds it.
static inline void ts__cap_fork(void)
{
    pthread_mutex_lock(&ts__cap_now.lock);
}

static inline void ts__cap_parent(void)
{
    pthread_mutex_unlock(&ts__cap_now.lock);
}

static inline void ts__cap_fresh_sums(ts__cap_state *s)
{
    memset(&s->sums, 0, sizeof s->sums);
    s->ended = 0;
}

static inline void ts__cap_child(void)
{
    ts__cap_state *const s = &ts__cap_now;
    TS__STORE(&s->on, 0);
    TS__STORE(&s->waits, 0);
    s->armed = false;
    ts__cap_fresh_sums(s);
    pthread_mutex_unlock(&s->lock);
}

static inline ts_result ts__cap_session(char *why, size_t room)
{
    (void)why;
    (void)room;
    pthread_mutex_lock(&ts__cap_now.lock);
    ts__cap_fresh_sums(&ts__cap_now);
    pthread_mutex_unlock(&ts__cap_now.lock);
    return TS_OK;
}

#ifdef TRACESMITH_DISABLE
#define ts__cap_listed(list, name) false
#else
static inline bool ts__cap_listed(const char *list, const char *name)
{
    return ts__filter_selects(list, name, strlen(name));
}
#endif

static inline void ts__cap_named_frame(const char *name, bool sure)
{
    ts__cap_state *const s = &ts__cap_now;
    (void)name; // used only if sessions are compiled in
    if (!ts_capture_on() && !TS__LOAD(&s->waits)) return;
    pthread_mutex_lock(&s->lock);
    const bool counts = s->desc.frame ? ts__cap_listed(s->frame, name) : sure;
    pthread_mutex_unlock(&s->lock);
    if (counts) ts_capture_frame();
}

// Reports what was captured when a session ends.
static const ts_backend ts__cap_backend = { "snapshot", ts__cap_session, NULL,
                                            ts_capture_stop };

static inline void ts__cap_hook(ts__cap_state *s)
{
    pthread_mutex_lock(&s->lock);
    const bool first = !s->hooked;
    s->hooked = true;
    pthread_mutex_unlock(&s->lock);
    if (!first) return;
    pthread_atfork(ts__cap_fork, ts__cap_parent, ts__cap_child);
    ts_backend_add(&ts__cap_backend);
    ts_frame_listen(ts__cap_named_frame);
}

// Returns false if a text is too long; then no option changes.
static inline bool ts__cap_options_fit(const ts_capture_desc *d)
{
    const ts__cap_state *const s = &ts__cap_now;
    return !d || (ts__cap_fits(d->kernels, sizeof s->kernels) &&
                  ts__cap_fits(d->zone, sizeof s->zone) &&
                  ts__cap_fits(d->frame, sizeof s->frame));
}

// The caller holds `lock`. No capture is on, because options cannot change
// during a capture.
static inline void ts__cap_options_set(ts__cap_state *s,
                                       const ts_capture_desc *desc)
{
    ts_capture_desc d;
    memset(&d, 0, sizeof d);
    if (desc) d = *desc;
    ts__cap_copy(s->kernels, &d.kernels);
    ts__cap_copy(s->zone, &d.zone);
    ts__cap_copy(s->frame, &d.frame);
    if (!d.budget_bytes) d.budget_bytes = 1u << 30;
    if (!d.drain_ms) d.drain_ms = 10000;
    if (!d.scan_depth) d.scan_depth = 4;
    if (!d.scan_bytes) d.scan_bytes = 1u << 20;
    s->desc = d;
}

TS__WEAK_API ts_result ts_capture_start(const ts_capture_desc *desc)
{
    ts__cap_state *const s = &ts__cap_now;
    if (!ts__cap_options_fit(desc)) return TS_ERR_USAGE;
    ts__cap_hook(s);
    pthread_mutex_lock(&s->lock);
    // Ended first, so that it is counted as a capture.
    if (s->on) ts__cap_end_now(s);
    ts__cap_options_set(s, desc);
    ts__cap_begin(s);
    pthread_mutex_unlock(&s->lock);
    return TS_OK;
}

TS__WEAK_API ts_result ts_capture_arm(const ts_capture_desc *desc)
{
    ts__cap_state *const s = &ts__cap_now;
    if (!ts__cap_options_fit(desc)) return TS_ERR_USAGE;
    ts__cap_hook(s);
    // In one step: a trigger in between would begin a capture whose budget
    // would then change.
    const uint32_t before = ts__cap_enter(s);
    ts__cap_do_stop(s);
    ts__cap_options_set(s, desc);
    s->armed = true;
    ts__cap_leave(s, before);
    return TS_OK;
}

TS__WEAK_API ts_capture_figures ts_capture_result(void)
{
    pthread_mutex_lock(&ts__cap_now.lock);
    const ts_capture_figures figures = ts__cap_now.figures;
    pthread_mutex_unlock(&ts__cap_now.lock);
    return figures;
}

TS__WEAK_API ts_capture_figures ts_capture_total(bool *waits)
{
    ts__cap_state *const s = &ts__cap_now;
    pthread_mutex_lock(&s->lock);
    ts_capture_figures sums = s->sums;
    if (s->on) ts__cap_add(&sums, &s->figures);
    *waits = s->waits != 0;
    pthread_mutex_unlock(&s->lock);
    return sums;
}

/* ==== 2. Options as text ================================================= */

static inline bool ts__cap_number(const char *text, uint64_t *number)
{
    char *end;
    if (*text < '0' || *text > '9') return false;
    const unsigned long long value = strtoull(text, &end, 10);
    const int shift = *end == 'K'   ? 10
                      : *end == 'M' ? 20
                      : *end == 'G' ? 30
                                    : 0;
    if (shift) end += end[1] == 'i' && end[2] == 'B' ? 3 : 1; // GiB
    if (*end || value > UINT64_MAX >> shift) return false;
    *number = (uint64_t)value << shift;
    return true;
}

static inline bool ts__cap_word(ts_capture_desc *d, const char *word)
{
    const char *const colon = strchr(word, ':');
    const char *const value = colon ? colon + 1 : "";
    const size_t size = colon ? (size_t)(colon - word) : strlen(word);
    uint64_t number = 0;
    const bool is_number = ts__cap_number(value, &number);
    const size_t length = strlen(value);
#define TS__CAP_IS(text) (size == strlen(text) && !memcmp(word, text, size))
    if (TS__CAP_IS("kernel") && *value && length < TS_FILTER_NAMES_MAX)
        d->kernels = value;
    else if (TS__CAP_IS("zone") && *value && length < sizeof ts__cap_now.zone)
        d->zone = value;
    else if (TS__CAP_IS("budget") && is_number && number)
        d->budget_bytes = number;
    else if (TS__CAP_IS("frames") && is_number && number <= UINT32_MAX)
        d->frames = (uint32_t)number;
    else if (TS__CAP_IS("frame") && *value && length < sizeof ts__cap_now.frame)
        d->frame = value;
    else if (TS__CAP_IS("operations") && is_number)
        d->operations = number;
    else if (TS__CAP_IS("first") && is_number)
        d->first = number;
    else if (TS__CAP_IS("count") && is_number)
        d->count = number;
    else if (TS__CAP_IS("hashes") && !colon)
        d->hashes_only = true;
    else if (TS__CAP_IS("hash") && !strcmp(value, "auto"))
        d->hash = TS_CAPTURE_HASH_AUTO;
    else if (TS__CAP_IS("hash") && !strcmp(value, "device"))
        d->hash = TS_CAPTURE_HASH_DEVICE;
    else if (TS__CAP_IS("hash") && !strcmp(value, "host"))
        d->hash = TS_CAPTURE_HASH_HOST;
    else if (!TS__CAP_IS("all") || colon)
        return false;
#undef TS__CAP_IS
    return true;
}

TS__WEAK_API ts_result ts_capture_parse(ts_capture_desc *desc, char *room,
                                        size_t size, const char *text)
{
    memset(desc, 0, sizeof *desc);
    if (strlen(text) >= size) return TS_ERR_USAGE;
    memcpy(room, text, strlen(text) + 1);
    for (char *at = room; *at;) {
        char *const end = at + strcspn(at, " ");
        const bool last = !*end;
        *end = 0;
        if (*at && !ts__cap_word(desc, at)) return TS_ERR_USAGE;
        at = last ? end : end + 1;
    }
    return TS_OK;
}

/* ==== 3. Selected operations ============================================= */

// Counts a launch of the named kernel. Returns false if out of memory.
static inline bool ts__cap_launch(ts__cap_state *s, uint32_t name,
                                  uint64_t *number)
{
    if (name >= s->launch_room) {
        const size_t room = (size_t)name * 2 + 64;
        uint32_t *const more = realloc(s->launches, room * sizeof *more);
        if (!more) return false;
        memset(more + s->launch_room, 0,
               (room - s->launch_room) * sizeof *more);
        s->launches = more;
        s->launch_room = room;
    }
    *number = s->launches[name]++;
    return true;
}

// Numbers the operation, unless the capture already has all that were
// requested.
static inline bool ts__cap_admit(ts__cap_state *s, ts_capture_op *op)
{
    pthread_mutex_lock(&s->lock);
    const uint64_t most = s->desc.operations;
    const bool room = s->on && (!most || s->admitted < most);
    if (room) op->head.order = ++s->order;
    s->admitted += room;
    pthread_mutex_unlock(&s->lock);
    return room;
}

// Returns whether the list names the operation's kernel or a kernel of its
// graph.
static inline bool ts__cap_is_named(const char *list, const ts_capture_op *op)
{
    for (size_t i = 0; i < op->name_count; i++)
        if (ts__cap_listed(list, op->names[i])) return true;
    return op->name && ts__cap_listed(list, op->name);
}

TS__WEAK_API bool ts_capture_requested(ts_capture_op *op)
{
    ts__cap_state *const s = &ts__cap_now;
    const bool kernel = op->head.kind == TS_EVENT_KERNEL ||
                        op->head.kind == TS_EVENT_GRAPH_LAUNCH;
    uint64_t number = 0;
    // A copy, because another thread may set options at any time.
    char zone[sizeof s->zone];
    pthread_mutex_lock(&s->lock);
    const ts_capture_desc d = s->desc;
    if (d.zone) memcpy(zone, s->zone, sizeof zone);
    const bool few = d.kernels || d.first || d.count;
    bool requested = s->on && (kernel || !few);
    if (requested && kernel && d.kernels)
        requested = ts__cap_is_named(s->kernels, op);
    if (requested && kernel && (d.first || d.count)) {
        requested = ts__cap_launch(s, op->head.name, &number) &&
                    number >= d.first &&
                    (!d.count || number - d.first < d.count);
    }
    pthread_mutex_unlock(&s->lock);
    return requested && (!d.zone || ts_zone_inside(zone)) &&
           ts__cap_admit(s, op);
}

#endif // TS__CAPTURE_OPTIONS_H
