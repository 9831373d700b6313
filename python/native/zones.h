/*
    zones.h - what zones share with other parts of the recorder
*/
#ifndef TS_PYTHON_ZONES_H
#define TS_PYTHON_ZONES_H

#include <stdint.h>

// A number for a span that no other span of this process has.
uint64_t zones_span_new(void);

#endif // TS_PYTHON_ZONES_H
