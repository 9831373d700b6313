/*
    flight_recorder.c - keep only the last moments, write them on demand

    With TS_POLICY_OVERWRITE the rings keep the most recent records and nothing
    is written to disk. When a step takes much longer than usual, the program
    writes a dump: the slow step is at the end of that trace, and the hundreds
    of steps before it show the normal duration.

    flight_recorder [SNAPSHOT]    (slow.sbt; the session is SNAPSHOT.session)
*/
#include <stdio.h>
#include "tracesmith.h"

static uint32_t count_primes(uint32_t limit)
{
    TS_FUNCTION();
    TS_ZONE_VALUE("limit", limit);
    uint32_t count = 0;
    for (uint32_t n = 2; n < limit; n++) {
        uint32_t d = 2;
        while (d * d <= n && n % d)
            d++;
        count += d * d > n;
    }
    return count;
}

// Returns 0 for success; else prints the reason to stderr and returns 1.
static int exit_status(const char *path, ts_result result)
{
    if (result == TS_OK) return 0;
    fprintf(stderr, "flight_recorder: %s: %s\n", path, ts_result_text(result));
    return 1;
}

int main(int argc, char **argv)
{
    const char *const snapshot = argc > 1 ? argv[1] : "slow.sbt";
    char session[4096];
    snprintf(session, sizeof session, "%s.session", snapshot);
    const ts_session_desc desc = { .path = session,
                                   .policy = TS_POLICY_OVERWRITE,
                                   .ring_bytes = 64 << 10 };
    ts_result result = ts_session_start(&desc);
    if (result != TS_OK) return exit_status(session, result);

    uint64_t total = 0; // ticks of all steps so far
    for (uint32_t step = 0; step < 3000; step++) {
        const uint64_t start = ts_tick_now();
        {
            TS_ZONE("step");
            // One step has far more work than the others.
            const uint32_t found = count_primes(step == 2500 ? 1000000 : 1000);
            TS_COUNTER("primes", found);
        }
        const uint64_t ticks = ts_tick_now() - start;
        if (step > 1000 && ticks > 2000 * (total / step)) {
            TS_MESSAGE("this step was slow");
            result = ts_session_snapshot(snapshot);
            if (result != TS_OK) return exit_status(snapshot, result);
            printf("flight_recorder: step %u was slow, see %s\n",
                   (unsigned)step, snapshot);
            break;
        }
        total += ticks;
    }
    return exit_status(session, ts_session_stop());
}
