// Calls the surface compiled as C++ and as C in one session, with the
// implementation compiled as C++.
#define TRACESMITH_IMPLEMENTATION
#include "tracesmith.h"

#include <cstdio>
#include <stdexcept>

extern "C" {
int surface(int count, double ratio, const char *text, void *memory);
int surface_in_c(int count, double ratio, const char *text, void *memory);
int surface_step(int step)
{
    return step & 1;
}
}

static void throws()
{
    TS_ZONE("unwound");
    throw std::runtime_error("on purpose");
}

int main()
{
    ts_session_desc desc = {};
    desc.path = "surface.sbt";
    if (ts_session_start(&desc) != TS_OK) return 1;
    int memory = 0;
    surface(5, 0.5, "text", &memory);
    surface_in_c(5, 0.5, "text", &memory);
    try {
        throws();
    } catch (const std::runtime_error &) {
        TS_MARK("caught");
    }
    if (ts_session_stop() != TS_OK) return 1;
    ts_stats stats;
    ts_session_stats(&stats);
    std::printf("%llu records, %llu lost\n",
                static_cast<unsigned long long>(stats.records),
                static_cast<unsigned long long>(stats.lost));
    return stats.lost != 0 || stats.records < 80;
}
