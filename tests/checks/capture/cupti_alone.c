// A program with the recorder and its CUPTI backend, on whatever is there.
#define TRACESMITH_IMPLEMENTATION
#define TRACESMITH_CUPTI
#include "tracesmith.h"

#include "backends/ts_cupti.h"

int main(int argc, char **argv)
{
    const ts_session_desc desc = { .path = argv[argc - 1] };
    if (ts_session_start(&desc) != TS_OK) return 1;
    {
        TS_ZONE("host");
    }
    return ts_session_stop() != TS_OK;
}
