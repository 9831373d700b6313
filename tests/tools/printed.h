/*
    printed.h - what a function of a tool prints, as a text

        FILE *const before = printed_begin(&stdout); // or &stderr
        races_text(&job);
        char *const text = printed_end(&stdout, before); // to be freed
*/
#ifndef TESTS_PRINTED_H
#define TESTS_PRINTED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *printed_text;
static size_t printed_size;

// From here on the stream is a text in memory; returns what it was.
static inline FILE *printed_begin(FILE **stream)
{
    FILE *const before = *stream;
    fflush(before);
    *stream = open_memstream(&printed_text, &printed_size);
    if (!*stream) abort();
    return before;
}

static inline char *printed_end(FILE **stream, FILE *before)
{
    if (fclose(*stream)) abort();
    *stream = before;
    return printed_text;
}

#endif // TESTS_PRINTED_H
