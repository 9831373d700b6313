// Lines of which a program that is not being recorded runs a load, a comparison
// and a branch (checks/disabled.sh).
#include "tracesmith.h"

void off_mark(void);
void off_counter(int number);
void off_alloc(void *block);
void off_free(void *block);

void off_mark(void)
{
    TS_MARK("mark");
}

void off_counter(int number)
{
    TS_COUNTER("counter", number);
}

void off_alloc(void *block)
{
    TS_ALLOC(block, 64);
}

void off_free(void *block)
{
    TS_FREE(block);
}
