#define TRACESMITH_IMPLEMENTATION
#include "tracesmith.h"
#include <stdio.h>

int main(void)
{
    const ts_session_desc desc = { .path = "hello.sbt" };
    ts_session_start(&desc); // if it fails, ts_session_stop returns the error
    for (int i = 0; i < 3; i++) {
        TS_ZONE("work");
        TS_COUNTER("i", i);
    }
    const ts_result result = ts_session_stop();
    if (result == TS_OK) return 0;
    fprintf(stderr, "hello.sbt: %s\n", ts_result_text(result));
    return 1;
}
