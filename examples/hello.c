#define TRACESMITH_IMPLEMENTATION
#include "tracesmith.h"

int main(void)
{
    const ts_session_desc desc = { .path = "hello.sbt" };
    ts_session_start(&desc);
    for (int i = 0; i < 3; i++) {
        TS_ZONE("work");
        TS_COUNTER("i", i);
    }
    return ts_session_stop() == TS_OK ? 0 : 1;
}
