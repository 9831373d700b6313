/*
    rule_copy.c - advice: copies between host and device
*/
#include "tools/analyze/advice/rule.h"
#include "tools/cli/search.h"

enum { TO_DEVICE = 1, TO_HOST = 2, PEER = 5, PAGEABLE = 1, PINNED = 2 };

static bool is_copy(const advice_op *op, uint8_t type)
{
    return op->kind == TS_EVENT_MEMCPY && !op->skipped && op->type == type;
}

static bool crosses(const advice_op *op)
{
    return is_copy(op, TO_DEVICE) || is_copy(op, TO_HOST) || is_copy(op, PEER);
}

// Returns the kind of memory of the host side of a copy; 0: unknown.
static uint8_t host_memory(const advice_op *op)
{
    return op->type == TO_DEVICE ? op->memory & 15 : op->memory >> 4;
}

static const char *direction(uint8_t type)
{
    return type == TO_DEVICE ? "host to device"
           : type == TO_HOST ? "device to host"
                             : "peer to peer";
}

/* ---- pageable-copy ------------------------------------------------------- */

typedef struct copy_rate {
    uint64_t bytes;
    int64_t ns;
} copy_rate;

// Returns bytes per millisecond, saturated at 32 bits for the model.
static uint32_t rate_of(uint64_t bytes, int64_t ns)
{
    while (bytes >> 33) {
        bytes /= 2;
        ns /= 2;
    }
    const uint64_t rate = bytes * 1000000 / (uint64_t)(ns > 0 ? ns : 1);
    return rate > UINT32_MAX ? UINT32_MAX : rate ? (uint32_t)rate : 1;
}

// Returns the rate that pinned copies of a direction and sufficient size reach
// in this trace.
static copy_rate pinned_rate(const advice *a, uint8_t type, uint64_t least)
{
    copy_rate sum = { 0 };
    for (uint32_t i = 0; i < a->op_count; i++) {
        const advice_op *const op = &a->ops[i];
        if (!is_copy(op, type) || host_memory(op) != PINNED ||
            advice_size(a, op) < least)
            continue;
        sum.bytes += advice_size(a, op);
        sum.ns += advice_length(op);
    }
    return sum;
}

// Frees the host time of a copy beyond the usual time of a launch, as if it
// returned at once.
static void free_host(advice *a, advice_spans *spans, const advice_op *op)
{
    enum { LAUNCH_NS = 10000 };
    if (op->type != TO_DEVICE || !advice_is_call(a, op->call)) return;
    const ts_node n = advice_node(a, op->call);
    advice_span_add(a, spans, n.file, n.track, n.recorded_ns + LAUNCH_NS,
                    n.recorded_ns + n.duration_ns);
}

static void find_pageable(advice *a, const advice_rule *rule, uint8_t type)
{
    const uint64_t least = (uint64_t)advice_limit(a, rule, "size");
    advice_mask mask = advice_mask_open(a);
    advice_spans spans = { 0 };
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < a->op_count; i++) {
        const advice_op *const op = &a->ops[i];
        if (!is_copy(op, type) || host_memory(op) != PAGEABLE ||
            advice_size(a, op) < least)
            continue;
        advice_mask_add(a, &mask, i);
        bytes += advice_size(a, op);
        free_host(a, &spans, op);
    }
    copy_rate to = pinned_rate(a, type, least);
    const bool measured = to.ns > 0;
    if (!measured) {
        to.bytes = (uint64_t)advice_limit(a, rule, "rate");
        to.ns = INT64_C(1000000000);
    }
    if (mask.count && mask.ns) {
        advice_finding *const f = advice_find_mask(a, rule, &mask);
        ts_change *const change = advice_change(a, f, TS_CHANGE_SCALE, &mask);
        const uint32_t now = rate_of(bytes, mask.ns);
        const uint32_t then = rate_of(to.bytes, to.ns);
        change->factor.num = now < then ? now : 1;
        change->factor.den = now < then ? then : 1;
        if (spans.count) advice_spare(a, f, &spans);
        ADVICE_SAY(a, f, title, "copies use pageable memory");
        ADVICE_SAY(a, f, what,
                   "%s %s of at least %s, %s in total, %s through pageable "
                   "memory at %s; %s %s.",
                   cli_counted(mask.count, "copy", "copies").s, direction(type),
                   cli_bytes(least).s, cli_bytes(bytes).s,
                   mask.count == 1 ? "goes" : "go",
                   report_words(report_rate(bytes, mask.ns)).s,
                   measured ? "pinned copies in this trace reach"
                            : "pinned memory is assumed to reach",
                   report_words(report_rate(to.bytes, to.ns)).s);
        ADVICE_SAY(a, f, todo,
                   "Allocate the host memory pinned (cudaHostAlloc, "
                   "pin_memory=True) and copy asynchronously.");
        ADVICE_SAY(a, f, how, "replay with these copies at that rate%s",
                   f->change_count > 1 ? ", whose calls return immediately"
                                       : "");
    }
    advice_mask_close(&mask);
    free(spans.list);
}

void rule_pageable_copy(advice *a, const advice_rule *rule)
{
    find_pageable(a, rule, TO_DEVICE);
    find_pageable(a, rule, TO_HOST);
}

/* ---- exposed-copy -------------------------------------------------------- */

void rule_exposed_copy(advice *a, const advice_rule *rule)
{
    const ts_timeline_figures *const t = ts_timeline_total(a->timeline);
    const int64_t alone = t->only_ns[TS_WORK_COPY];
    if (!advice_reaches(a, rule, "share", alone, t->busy_ns + t->idle_ns))
        return;
    advice_mask mask = advice_mask_open(a);
    for (uint32_t i = 0; i < a->op_count; i++)
        if (crosses(&a->ops[i])) advice_mask_add(a, &mask, i);
    if (mask.count) {
        advice_finding *const f = advice_find_mask(a, rule, &mask);
        const cli_text work = cli_time(mask.ns);
        advice_change(a, f, TS_CHANGE_OVERLAP, &mask);
        ADVICE_SAY(a, f, title, "copies do not overlap with kernels");
        ADVICE_SAY(a, f, what,
                   "For %s (%s), devices only copy; copies to and from them "
                   "take %s in total.",
                   cli_time(alone).s,
                   report_words(report_share(alone, t->busy_ns + t->idle_ns)).s,
                   work.s);
        ADVICE_SAY(a, f, todo,
                   "Copy on a separate stream, from pinned memory, ahead of "
                   "time (double buffering), and let the kernels that need the "
                   "data wait for an event.");
        ADVICE_SAY(a, f, how,
                   "replay in which no kernel waits for a copy: an upper bound "
                   "for the gain of overlap");
    }
    advice_mask_close(&mask);
}

/* ---- copy-bound ---------------------------------------------------------- */

void rule_copy_bound(advice *a, const advice_rule *rule)
{
    if (!advice_reaches(a, rule, "share", a->cost_ns[TS_COST_COPY],
                        a->recorded_ns))
        return;
    advice_mask mask = advice_mask_open(a);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < a->op_count; i++) {
        if (!is_copy(&a->ops[i], TO_DEVICE)) continue;
        advice_mask_add(a, &mask, i);
        bytes += advice_size(a, &a->ops[i]);
    }
    if (mask.count) {
        advice_finding *const f = advice_find_mask(a, rule, &mask);
        advice_change(a, f, TS_CHANGE_REMOVE, &mask);
        ADVICE_SAY(a, f, title, "copies limit the run");
        ADVICE_SAY(
            a, f, what,
            "%s of the critical path (%s) are copies. %s %s %s to devices at "
            "%s.",
            cli_time(a->cost_ns[TS_COST_COPY]).s,
            report_words(report_share(a->cost_ns[TS_COST_COPY], a->recorded_ns))
                .s,
            cli_counted(mask.count, "copy", "copies").s,
            mask.count == 1 ? "brings" : "bring", cli_bytes(bytes).s,
            report_words(report_rate(bytes, mask.ns)).s);
        ADVICE_SAY(a, f, todo,
                   "Keep reused data (weights, tables) on the device, copy "
                   "smaller data (a smaller type), or share one copy among "
                   "devices by peer access.");
        ADVICE_SAY(a, f, how,
                   "replay without the copies to devices: an upper bound");
    }
    advice_mask_close(&mask);
}

/* ---- small-copies -------------------------------------------------------- */

static bool follows(const advice *a, uint32_t op, uint64_t most)
{
    const advice_op *const o = &a->ops[op];
    if (!crosses(o) || advice_size(a, o) > most || o->before == TS_NODE_NONE)
        return false;
    const advice_op *const b = &a->ops[o->before];
    return b->kind == TS_EVENT_MEMCPY && b->type == o->type &&
           advice_size(a, b) <= most && b->thread == o->thread;
}

void rule_small_copies(advice *a, const advice_rule *rule)
{
    const uint64_t most = (uint64_t)advice_limit(a, rule, "size");
    advice_mask mask = advice_mask_open(a);
    uint64_t bytes = 0;
    for (uint32_t i = 0; mask.means && i < a->op_count; i++) {
        if (!follows(a, i, most)) continue;
        const bool fresh = !mask.means[a->ops[i].before];
        if (fresh) bytes += advice_size(a, &a->ops[a->ops[i].before]);
        advice_mask_add(a, &mask, a->ops[i].before);
        advice_mask_add(a, &mask, i);
        bytes += advice_size(a, &a->ops[i]);
    }
    if ((int64_t)mask.count >= advice_limit(a, rule, "count") && mask.count) {
        advice_finding *const f = advice_find_mask(a, rule, &mask);
        advice_change(a, f, TS_CHANGE_FUSE, &mask);
        ADVICE_SAY(a, f, title, "many small copies in sequence");
        ADVICE_SAY(a, f, what,
                   "%s of at most %s directly follow another of the same "
                   "direction on the same stream: %s in %s.",
                   cli_counted(mask.count, "copy", "copies").s,
                   cli_bytes(most).s, cli_bytes(bytes).s, cli_time(mask.ns).s);
        ADVICE_SAY(a, f, todo,
                   "Put the data into one buffer and copy that, or use a "
                   "batched copy; pass small arguments with the launch.");
        ADVICE_SAY(a, f, how,
                   "replay in which the following ones need no launch and no "
                   "gap; durations are unchanged");
    }
    advice_mask_close(&mask);
}

/* ---- bounced-copy -------------------------------------------------------- */

typedef struct bounce {
    uint64_t address, size;
    uint32_t op, file;
} bounce;

static int by_address(const void *left, const void *right)
{
    const bounce *const a = left, *const b = right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->address != b->address) return a->address < b->address ? -1 : 1;
    return (a->op > b->op) - (a->op < b->op);
}

static bounce *list_to_host(advice *a, uint64_t least, size_t *count)
{
    bounce *const all = calloc(a->op_count + 1, sizeof *all);
    *count = 0;
    for (uint32_t i = 0; all && i < a->op_count; i++) {
        const advice_op *const op = &a->ops[i];
        if (!is_copy(op, TO_HOST) || advice_size(a, op) < least) continue;
        const bounce one = { advice_value(a, i, TS_COLUMN_ADDRESS),
                             advice_size(a, op), i, op->file };
        if (one.address) all[(*count)++] = one;
    }
    if (!all) a->failed = true;
    if (all && *count > 1) qsort(all, *count, sizeof *all, by_address);
    return all;
}

// Returns the latest copy to the host before a time that covers all bytes which
// a copy reads.
static uint32_t came_from(const advice *a, const bounce *all, size_t count,
                          uint32_t op)
{
    const uint64_t from = advice_value(a, op, TS_COLUMN_SOURCE);
    uint32_t found = TS_NODE_NONE;
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = cli_middle(low, high);
        cli_halve(&low, &high,
                  all[middle].file < a->ops[op].file ||
                      (all[middle].file == a->ops[op].file &&
                       all[middle].address < from));
    }
    for (; from && low < count && all[low].address == from &&
           all[low].file == a->ops[op].file;
         low++)
        if (all[low].size >= advice_size(a, &a->ops[op]) &&
            a->ops[all[low].op].end_ns <= a->ops[op].start_ns)
            found = all[low].op;
    return found;
}

void rule_bounced_copy(advice *a, const advice_rule *rule)
{
    const uint64_t least = (uint64_t)advice_limit(a, rule, "size");
    size_t count;
    bounce *const all = list_to_host(a, least, &count);
    advice_mask mask = advice_mask_open(a);
    uint64_t pairs = 0, bytes = 0, devices = 0;
    for (uint32_t i = 0; all && count && i < a->op_count; i++) {
        if (!is_copy(&a->ops[i], TO_DEVICE) ||
            advice_size(a, &a->ops[i]) < least)
            continue;
        const uint32_t from = came_from(a, all, count, i);
        if (from == TS_NODE_NONE) continue;
        advice_mask_add(a, &mask, from);
        advice_mask_add(a, &mask, i);
        pairs++;
        bytes += advice_size(a, &a->ops[i]);
        devices += a->ops[from].device != a->ops[i].device;
    }
    if (pairs && (int64_t)pairs >= advice_limit(a, rule, "count")) {
        advice_finding *const f = advice_find_mask(a, rule, &mask);
        advice_change(a, f, TS_CHANGE_REMOVE, &mask);
        ADVICE_SAY(a, f, title, "data is copied to the host and back");
        ADVICE_SAY(a, f, what,
                   "%s a copy to a device reads exactly the data that was "
                   "copied to the host before, %s in total; %s from another "
                   "device.",
                   cli_counted(pairs, "time", "times").s, cli_bytes(bytes).s,
                   cli_counted(devices, "time", "times").s);
        ADVICE_SAY(a, f, todo,
                   "Copy within the device, or from device to device "
                   "(cudaMemcpyPeerAsync, with peer access enabled), unless "
                   "the host changes the data in between.");
        ADVICE_SAY(a, f, how, "replay without both copies");
        f->confidence = REPORT_MEDIUM;
    }
    advice_mask_close(&mask);
    free(all);
}

/* ---- overwritten-set ----------------------------------------------------- */

void rule_overwritten_set(advice *a, const advice_rule *rule)
{
    advice_mask mask = advice_mask_open(a);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < a->op_count; i++) {
        const advice_op *const op = &a->ops[i];
        const uint32_t set = op->before;
        if (op->skipped || set == TS_NODE_NONE ||
            a->ops[set].kind != TS_EVENT_MEMSET ||
            (op->kind != TS_EVENT_MEMCPY && op->kind != TS_EVENT_MEMSET))
            continue;
        const uint64_t first = advice_value(a, set, TS_COLUMN_ADDRESS);
        const uint64_t to = advice_value(a, i, TS_COLUMN_ADDRESS);
        const uint64_t size = advice_size(a, &a->ops[set]);
        if (!first || !size || to > first || first - to > advice_size(a, op) ||
            advice_size(a, op) - (first - to) < size)
            continue;
        advice_mask_add(a, &mask, set);
        bytes += size;
    }
    if (mask.count && (int64_t)mask.count >= advice_limit(a, rule, "count")) {
        advice_finding *const f = advice_find_mask(a, rule, &mask);
        advice_change(a, f, TS_CHANGE_REMOVE, &mask);
        ADVICE_SAY(a, f, title, "memory is set and then overwritten");
        ADVICE_SAY(a, f, what,
                   "%s, %s and %s in total: the next operation of the stream "
                   "overwrites the whole range.",
                   cli_counted(mask.count, "memset", "memsets").s,
                   cli_bytes(bytes).s, cli_time(mask.ns).s);
        ADVICE_SAY(a, f, todo, "Remove these memsets.");
        ADVICE_SAY(a, f, how, "replay without them and their calls");
    }
    advice_mask_close(&mask);
}
