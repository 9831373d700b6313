// A user's code with every macro, without a cast or a 0 for a pointer of its
// own: whatever a strict compiler says of it is of the header.
#include "tracesmith.h"
#include <setjmp.h>

static jmp_buf back;
int strict(void *block, size_t size, int number, double real);

int strict(void *block, size_t size, int number, double real)
{
    TS_FUNCTION();
    TS_ZONE("name");
    TS_ZONE("name", "category");
    TS_ZONE("name", "category", 0x00FF00);
    TS_ZONE_NAME("made at run time");
    if (setjmp(back)) return number;
    TS_ZONE_VALUE("int", number);
    TS_ZONE_VALUE("double", real);
    TS_ZONE_VALUE("size", size);
    TS_ZONE_TEXT("text");
    TS_ZONE_BEGIN(by_hand, "by hand");
    TS_MARK("mark");
    TS_MARK("mark", "category");
    TS_MESSAGE("message");
    TS_COUNTER("int", number);
    TS_COUNTER("double", real);
    TS_COUNTER("size", size);
    TS_ALLOC(block, size);
    TS_ALLOC(block, size, "pool");
    TS_ALLOC(block, size, "pool", "category");
    TS_FREE(block);
    TS_FREE(block, "pool");
    TS_FRAME("frame");
    TS_FLOW_START(1);
    TS_FLOW_STEP(1);
    TS_FLOW_END(1);
    TS_SPAN_START(2, "span");
    TS_SPAN_END(2);
    TS_THREAD_NAME("thread");
    TS_ZONE_END(by_hand);
    return 0;
}
