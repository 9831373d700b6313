/*
    fuzz_replay.c - whatever is recorded, the replay ends and tells the truth

    The first byte chooses how, each 16 bytes after it are an operation, a
    call or a dependency of one of three files. Without a wait that names its
    record every operation must come out as it was; with one, those that did
    not run must lie in or behind a cycle.
*/
#define _GNU_SOURCE
#include "tests/replay/graph/replay_forge.h"

enum { RECORD = 16, MOST = 300, FILES = 3 };

static const uint8_t kinds[] = { K,
                                 R,
                                 W,
                                 SS,
                                 DS,
                                 ES,
                                 TS_EVENT_MEMCPY,
                                 TS_EVENT_MEMSET,
                                 TS_EVENT_GRAPH_LAUNCH,
                                 TS_EVENT_COLLECTIVE,
                                 TS_EVENT_HOST_FUNCTION,
                                 TS_EVENT_GPU_FREE };
static const uint32_t tracks[] = { S0, S0 + 1, S0 + 2, LEGACY, FREE,
                                   T0, T0 + 1, D0,     C0,     9999 };
static const char *const names[] = { "cudaLaunchKernel",
                                     "cudaStreamSynchronize",
                                     "cudaDeviceSynchronize",
                                     "cudaFree",
                                     "cudaEventQuery",
                                     "cudaMemcpyAsync",
                                     "ncclSend",
                                     "ncclRecv",
                                     "all_reduce" };

typedef struct part {
    op ops[MOST];
    call calls[MOST];
    dependency deps[MOST];
    uint32_t op_count, call_count, dep_count;
} part;

static const char *name_at(uint8_t byte)
{
    return names[byte % (sizeof names / sizeof *names)];
}

static op one(const uint8_t *bytes)
{
    op o = { 0 };
    o.kind = kinds[bytes[0] % sizeof kinds];
    o.track = tracks[bytes[1] % (sizeof tracks / sizeof *tracks)];
    o.queued = bytes[2];
    o.start = o.queued + bytes[3] % 64;
    o.end = o.start + bytes[4];
    if (bytes[3] & 128) o.queued = UNKNOWN;
    if (bytes[3] & 64) o.end += UINT64_C(1) << (bytes[4] % 64);
    if (bytes[9] & 128) o.start = o.end = UINT64_C(1) << (bytes[10] % 64);
    if (bytes[9] & 128) o.queued = UNKNOWN;
    o.correlation = bytes[5];
    o.id = bytes[6] % 8;
    o.record = o.kind == W && bytes[6] & 128 ? bytes[7] : 0;
    o.thread = bytes[8] % 4 ? HOST + bytes[8] % 2 : 0;
    o.name = name_at(bytes[11]);
    o.communicator = bytes[12] % 4;
    o.sequence = bytes[12] >> 6;
    o.size = bytes[13] % 4;
    o.peer = bytes[13] >> 4;
    o.ranks = bytes[14] % 8;
    o.type = bytes[14] >> 5;
    o.memory = bytes[15];
    return o;
}

static void check(bool ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "%s\n", what);
    abort();
}

// Figures add up, or the timeline does not open; states leave no gap.
static void timeline(const ts_replay *r, bool replayed)
{
    const ts_timeline_desc desc = { .replayed = replayed };
    ts_timeline *t;
    const ts_result result = ts_timeline_open(&t, r, &desc);
    check(result == TS_OK || result == TS_ERR_NOT_FOUND, "figures add up");
    for (size_t i = 0; t && i < ts_replay_lane_count(r); i++) {
        ts_state_spans spans = ts_timeline_state_spans(t, i);
        ts_state_span span;
        int64_t at = INT64_MIN;
        while (ts_state_spans_next(&spans, &span)) {
            check(span.start_ns < span.end_ns &&
                      (at == INT64_MIN || at == span.start_ns),
                  "states leave no gap");
            at = span.end_ns;
        }
    }
    ts_timeline_close(t);
}

// What is on the critical path of a run is all of its time, without gaps.
static void check_path(ts_replay *r)
{
    ts_path path;
    const ts_step *steps;
    size_t count;
    check(ts_replay_path(r, &path) == TS_OK, "a run has a path");
    check(ts_replay_steps(r, &steps, &count) == TS_OK, "a run has steps");
    const ts_replay_stats *const s = ts_replay_result(r);
    int64_t at = s->start_ns, sum = 0;
    for (size_t i = 0; i < path.count; i++) {
        check(path.parts[i].start_ns == at, "a gap in the path");
        check(path.parts[i].end_ns > at, "a part of the path goes back");
        at = path.parts[i].end_ns;
    }
    for (uint32_t i = 0; i < TS_COST_LIMIT; i++)
        sum += path.cost_ns[i];
    check(!s->operations || at == s->end_ns, "the path ends too early");
    check(sum == at - s->start_ns, "costs are not the makespan");
}

// Models with changes: they end, whatever is changed, and leave no trace.
static void model(ts_replay *r, uint8_t how, uint8_t what)
{
    const ts_change changes[] = {
        { .type = (ts_change_type)(1 + what % 10),
          .factor = { what & 15, 1 + (uint32_t)(how >> 4) },
          .ns = what,
          .has_ns = how & 1,
          .track = S0 + (how & 7) },
        { .type = (ts_change_type)(1 + (what >> 4) % 10),
          .factor = { how & 7, 3 },
          .one_part = true,
          .part = 0,
          .track = LEGACY },
    };
    ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL };
    if (ts_replay_run(r, &desc) != TS_OK) return;
    check_path(r);
    const uint64_t digest = ts_replay_result(r)->digest;
    desc.changes = changes;
    desc.change_count = 2;
    desc.copy_engines = how & 3;
    desc.share_compute = what & 64;
    check(ts_replay_run(r, &desc) == TS_OK, "a changed model runs");
    check_path(r);
    timeline(r, true);
    desc.change_count = desc.copy_engines = 0;
    desc.share_compute = false;
    check(ts_replay_run(r, &desc) == TS_OK, "a model runs again");
    check(ts_replay_result(r)->digest == digest, "a change stays");
}

static void replay(fixture *files, size_t count, uint8_t how, ts_deps deps,
                   bool named)
{
    const uint32_t streams[] = { S0, LEGACY, D0 }, of[] = { 0, 1, 0 };
    ts_reader *const more[] = { files[1].reader, files[2].reader };
    const ts_replay_desc desc = { .streams = streams,
                                  .stream_files = of,
                                  .stream_count =
                                      deps == TS_DEPS_FROZEN ? 0 : 3,
                                  .deps = deps,
                                  .more = more,
                                  .more_count = count - 1,
                                  .queue_depth = how & 3,
                                  .connections = how >> 2 & 3,
                                  .no_inference = how & 16,
                                  .threads = 1 };
    ts_replay *r;
    if (ts_replay_open(&r, files[0].reader, &desc) != TS_OK) return;
    const ts_replay_stats *const s = ts_replay_result(r);
    timeline(r, false);
    if (ts_replay_run(r, NULL) == TS_OK) {
        const uint32_t *nodes;
        const uint64_t unmet = s->skipped[TS_SKIP_UNMET];
        check(s->different == unmet, "an operation came out differently");
        check(named || !unmet, "a cycle without a named record");
        check(!unmet == !ts_replay_cycle(r, &nodes), "a cycle is missing");
        timeline(r, true);
        check_path(r);
        model(r, how, (uint8_t)(s->digest >> 8));
    }
    ts_replay_close(r);
}

static fixture forged(const part *p, uint8_t how, uint64_t rank)
{
    fixture x;
    work_begin(&x, 0);
    if (how & 64) work_started(&x, 1000 + rank * 10);
    work_add(&x, p->ops, p->op_count, p->calls, p->call_count, how & 3);
    if (p->dep_count) add_dependencies(&x.f, p->deps, p->dep_count);
    work_rank(&x, rank);
    forge_finish(&x.f);
    const ts_reader_desc desc = { .bytes = x.f.bytes,
                                  .size = x.f.size,
                                  .threads = 1 };
    check(ts_reader_open(&x.reader, &desc) == TS_OK, "a forged trace opens");
    return x;
}

// Returns whether a wait names its record.
static bool take(part *p, const uint8_t *bytes)
{
    const op o = one(bytes);
    const call c = { o.thread ? o.thread : HOST,
                     bytes[2],
                     (uint64_t)bytes[2] + bytes[4],
                     o.correlation,
                     o.name,
                     bytes[15] & 1 };
    const dependency d = { bytes[5], bytes[7] };
    if ((bytes[9] & 3) == 1 && p->call_count < MOST) {
        p->calls[p->call_count++] = c;
    } else if ((bytes[9] & 7) == 2 && p->dep_count < MOST) {
        p->deps[p->dep_count++] = d;
    } else if (p->op_count < MOST) {
        p->ops[p->op_count++] = o;
        return o.record != 0;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static part parts[FILES];
    bool named = false;
    if (!size) return 0;
    const uint8_t how = bytes[0];
    for (size_t i = 0; i < FILES; i++)
        parts[i].op_count = parts[i].call_count = parts[i].dep_count = 0;
    for (size_t at = 1; at + RECORD <= size && at / RECORD < MOST; at += RECORD)
        named |= take(&parts[bytes[at + 9] / 8 % FILES], bytes + at);
    fixture files[FILES];
    for (size_t i = 0; i < FILES; i++)
        files[i] = forged(&parts[i], how, i);
    for (int deps = 0; deps <= TS_DEPS_NONE; deps++)
        replay(files, how & 32 ? 1 : FILES, how, (ts_deps)deps, named);
    for (size_t i = 0; i < FILES; i++) {
        ts_reader_close(files[i].reader);
        forge_close(&files[i].f);
    }
    return 0;
}
