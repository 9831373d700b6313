/*
    report_expected.h - what ts-analyze prints of a test's trace, word for word

        REPORT(&m.path, 1, "sync"); // only this topic

    The text must be that under the test's name in a file beside the test,
    test_NAME.txt. UPDATE=1 rewrites it.
*/
#ifndef REPORT_EXPECTED_H
#define REPORT_EXPECTED_H

#include "tools/tracesmith_tools.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit.h"

enum { REPORT_MOST = 1 << 18 }; // bytes of a file with texts

static inline void report_file(char *path, size_t size, const char *source)
{
    snprintf(path, size, "%s", source);
    char *const end = strrchr(path, '.');
    assert_true(end && strlen(end) + 4 < size);
    strcpy(end, ".txt");
}

static inline char *report_read(const char *path)
{
    char *const text = calloc(1, REPORT_MOST);
    assert_non_null(text);
    FILE *const in = fopen(path, "r");
    if (!in) return text;
    assert_true(fread(text, 1, REPORT_MOST - 1, in) < REPORT_MOST - 1);
    fclose(in);
    return text;
}

// Finds the text under a name: it ends before the next name, or with the file.
static inline char *report_section_of(char *all, const char *name, size_t *size)
{
    char head[160];
    snprintf(head, sizeof head, "==== %s\n", name);
    char *const at = strstr(all, head);
    *size = 0;
    if (!at) return all + strlen(all);
    const char *const next = strstr(at + 1, "\n==== ");
    *size = next ? (size_t)(next + 1 - at) : strlen(at);
    return at;
}

static inline void report_rewrite(const char *path, char *all, const char *name,
                                  const char *got)
{
    size_t size;
    char *const at = report_section_of(all, name, &size);
    FILE *const out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out, "%.*s==== %s\n%s%s", (int)(at - all), all, name, got,
            at + size);
    fclose(out);
}

static inline void report_compare(const char *source, const char *name,
                                  const char *got)
{
    char path[200], head[160];
    const char *const update = getenv("UPDATE");
    report_file(path, sizeof path, source);
    char *const all = report_read(path);
    if (update && !strcmp(update, "1")) {
        report_rewrite(path, all, name, got);
    } else {
        size_t size;
        char *const at = report_section_of(all, name, &size);
        at[size] = 0;
        const int head_size = snprintf(head, sizeof head, "==== %s\n", name);
        const char *const wanted = size ? at + head_size : "";
        if (strcmp(wanted, got))
            print_error("%s: %s\n---- wanted\n%s---- got\n%s", path, name,
                        wanted, got);
        assert_true(!strcmp(wanted, got));
    }
    free(all);
}

// Traces of tests have another name each time.
static inline void report_mask(char *text, const char *path)
{
    static const char mask[] = "trace.sbt";
    for (char *at; (at = strstr(text, path)) != NULL;) {
        memcpy(at, mask, sizeof mask - 1);
        memmove(at + sizeof mask - 1, at + strlen(path),
                strlen(at + strlen(path)) + 1);
    }
}

// Compares a text of a test with what is expected of it, and frees it.
static inline void report_check(const char *source, const char *test,
                                char *text, const char *const *paths,
                                size_t path_count)
{
    static const char *last;
    static int nth; // of several in one test
    char name[120];
    for (size_t i = 0; i < path_count; i++)
        report_mask(text, paths[i]);
    nth = last && !strcmp(last, test) ? nth + 1 : 1;
    last = test;
    snprintf(name, sizeof name, nth > 1 ? "%s, %d" : "%s", test, nth);
    report_compare(source, name, text);
    free(text);
}

// What it says of some topics (NULL: all), with further settings.
static inline void report_expected(const char *source, const char *test,
                                   const ts_analysis_desc *desc)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const stream = open_memstream(&text, &size);
    const ts_output output = { .stream = stream };
    ts_analysis *a;
    ts_error error;
    if (ts_analysis_open(&a, desc, &error) != TS_OK ||
        ts_analysis_write(a, TS_REPORT_TEXT, &output, &error) != TS_OK)
        fail_msg("%s", error.text);
    ts_analysis_close(a);
    assert_int_equal(0, fclose(stream));
    report_check(source, test, text, desc->paths, desc->path_count);
}

// Of one trace.
#define REPORT(trace, topics) \
    report_expected( \
        __FILE__, __func__, \
        &(const ts_analysis_desc){ .paths = (const char *const[]){ trace }, \
                                   .path_count = 1, \
                                   .only = topics })

#endif // REPORT_EXPECTED_H
