/*
    fuzz_source.h - what fuzzers of captures read their input by
*/
#ifndef FUZZ_SOURCE_H
#define FUZZ_SOURCE_H

#include <stddef.h>
#include <stdint.h>

typedef struct source {
    const uint8_t *bytes;
    size_t size;
} source;

static uint8_t next(source *s)
{
    if (!s->size) return 0;
    s->size--;
    return *s->bytes++;
}

#endif // FUZZ_SOURCE_H
