// Stacks by libunwind, as machines have them that ts_stack.h does not know: the
// addresses that functions know themselves, and a trace with them.
//   libunwind TRACE
#define TRACESMITH_UNWIND
#define TRACESMITH_LIBUNWIND
#define TRACESMITH_IMPLEMENTATION
#include "tracesmith.h"

#include "backends/ts_stack.h"

enum { DEPTH = 20 };
#define PLAIN __attribute__((noinline, noclone))

static uint64_t known[DEPTH + 1], found[64];
static uint32_t known_count, found_count;

static PLAIN int look(int depth)
{
    known[depth] = (uint64_t)(uintptr_t)__builtin_return_address(0);
    if (depth) {
        const int below = look(depth - 1);
        __asm__ volatile("" ::: "memory"); // not the last thing that it does
        return below + 1;
    }
    TS_ZONE("deep");
    TS_ZONE_STACK();
    known_count = DEPTH + 1;
    found_count = ts_stack_addresses(found, 64, 1);
    return 0;
}

int main(int argc, char **argv)
{
    const ts_session_desc desc = { .path = argv[argc - 1] };
    uint32_t wrong = 0;
    if (argc != 2 || ts_session_start(&desc) != TS_OK) return 2;
    if (look(DEPTH) != DEPTH || ts_session_stop() != TS_OK) return 2;
    for (uint32_t i = 0; i < known_count; i++)
        wrong += i >= found_count || found[i] + 1 != known[i];
    printf("%u frames, %u of %u wrong; %s\n", found_count, wrong, known_count,
           ts_stack_problem() ? ts_stack_problem() : "no problem");
    return wrong || ts_stack_problem();
}
