/*
    fuzz_replay.c - whatever is recorded, the replay ends and tells the truth

    Ten bytes of input are one operation or call. Without a wait that names
    its record every operation must come out as it was; with one, those that
    did not run must lie in or behind a circle.
*/
#define _GNU_SOURCE
#include "tests/replay_forge.h"

enum { RECORD = 10, MOST = 400 };

static const uint8_t kinds[] = { K,
                                 R,
                                 W,
                                 SS,
                                 DS,
                                 ES,
                                 TS_EVENT_MEMCPY,
                                 TS_EVENT_GRAPH_LAUNCH,
                                 TS_EVENT_GPU_FREE };
static const uint32_t tracks[] = { S0, S0 + 1, S0 + 2, LEGACY, FREE,
                                   T0, T0 + 1, D0,     C0,     9999 };

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
    o.correlation = bytes[5];
    o.id = bytes[6] % 8;
    o.record = o.kind == W && bytes[6] & 128 ? bytes[7] : 0;
    o.thread = bytes[8] % 4 ? HOST + bytes[8] % 2 : 0;
    return o;
}

static void check(bool ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static void replay(const fixture *x, ts_deps deps, bool named)
{
    const uint32_t streams[] = { S0, LEGACY, D0 };
    const ts_replay_desc desc = { .streams = streams,
                                  .stream_count =
                                      deps == TS_DEPS_FROZEN ? 0 : 3,
                                  .deps = deps,
                                  .threads = 1 };
    ts_replay *r;
    if (ts_replay_open(&r, x->reader, &desc) != TS_OK) return;
    const ts_replay_stats *const s = ts_replay_result(r);
    if (ts_replay_run(r, NULL) == TS_OK) {
        const uint32_t *nodes;
        const uint64_t unmet = s->skipped[TS_SKIP_UNMET];
        check(s->different == unmet, "an operation came out differently");
        check(named || !unmet, "a circle without a named record");
        check(!unmet == !ts_replay_circle(r, &nodes), "a circle is missing");
    }
    ts_replay_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static op ops[MOST];
    static call calls[MOST];
    size_t count = 0;
    uint32_t call_count = 0;
    bool named = false;
    for (size_t at = 0; at + RECORD <= size && count + call_count < MOST;
         at += RECORD) {
        const op o = one(bytes + at);
        const call c = { o.thread ? o.thread : HOST, bytes[at + 2],
                         (uint64_t)bytes[at + 2] + bytes[at + 4],
                         o.correlation };
        if (bytes[at + 9] & 1)
            calls[call_count++] = c;
        else
            ops[count++] = o;
        named |= o.record != 0;
    }
    fixture x;
    work_begin(&x, 0);
    add_calls(&x.f, calls, call_count);
    for (uint8_t k = TS_EVENT_GPU_FIRST; k < TS_EVENT_LIMIT; k++)
        add_kind(&x.f, ops, count, k, false);
    forge_finish(&x.f);
    const ts_reader_desc desc = { .bytes = x.f.bytes,
                                  .size = x.f.size,
                                  .threads = 1 };
    check(ts_reader_open(&x.reader, &desc) == TS_OK, "a forged trace opens");
    for (int deps = 0; deps <= TS_DEPS_NONE; deps++)
        replay(&x, (ts_deps)deps, named);
    ts_reader_close(x.reader);
    forge_close(&x.f);
    return 0;
}
