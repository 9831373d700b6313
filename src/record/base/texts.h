#if defined(TRACESMITH_IMPLEMENTATION) && !defined(TS__IMPLEMENTED)
#define TS__IMPLEMENTED

#include <string.h>

// Most of what follows runs rarely and is optimised for size; rings/ and
// encode/ run for each record and are not.
#ifdef __clang__
#define TS__SMALL_BEGIN \
    _Pragma("clang attribute push(__attribute__((minsize)), apply_to=function)")
#define TS__SMALL_END _Pragma("clang attribute pop")
#elif __GNUC__ >= 12
#define TS__SMALL_BEGIN \
    _Pragma("GCC push_options") _Pragma("GCC optimize(\"Oz\")")
#define TS__SMALL_END _Pragma("GCC pop_options")
#else
#define TS__SMALL_BEGIN \
    _Pragma("GCC push_options") _Pragma("GCC optimize(\"Os\")")
#define TS__SMALL_END _Pragma("GCC pop_options")
#endif
TS__SMALL_BEGIN

/* ---- Texts of results, events and columns ------------------------------- */

// Lists that end with NULL: a table is smaller than a switch.
typedef struct ts__text {
    int number;
    const char *text;
} ts__text;

static const char *ts__text_of(const ts__text *list, int number,
                               const char *otherwise)
{
    while (list->text && list->number != number)
        list++;
    return list->text ? list->text : otherwise;
}

#define TS__X(name, value, text) { value, text },
#define TS__TEXT_OF(list, number, otherwise) \
    static const ts__text texts[] = { list(TS__X){ 0, NULL } }; \
    return ts__text_of(texts, (int)(number), otherwise)

const char *ts_result_text(ts_result result)
{
    TS__TEXT_OF(TS_RESULTS, result, "unknown result");
}

const char *ts_event_name(uint32_t kind)
{
    TS__TEXT_OF(TS_EVENTS, kind, "unknown");
}

const char *ts_column_name(uint32_t column)
{
    TS__TEXT_OF(TS_COLUMNS, column, "unknown");
}

const char *ts_loss_name(uint32_t cause)
{
    TS__TEXT_OF(TS_LOSSES, cause, "unknown");
}
#undef TS__X
#undef TS__TEXT_OF

#define TS__COLUMNS_PER_EVENT 16

const uint8_t *ts_event_columns(uint32_t kind)
{
#define TS__C(name) TS_COLUMN_##name
#define TS__GPU \
    TS__C(START), TS__C(DURATION), TS__C(CORRELATION), TS__C(QUEUED), \
        TS__C(SUBMITTED), TS__C(THREAD), TS__C(SITE), TS__C(STACK)
    // By event kind; 0 is none.
    static const uint8_t columns[TS_EVENT_LIMIT][TS__COLUMNS_PER_EVENT + 1] = {
        { 0 },
        // zone
        { TS__C(START), TS__C(DURATION), TS__C(SITE) },
        // zone_open
        { TS__C(START), TS__C(SITE), TS__C(DEPTH) },
        // zone_arg
        { TS__C(START), TS__C(SITE), TS__C(NAME), TS__C(TYPE), TS__C(VALUE),
          TS__C(STACK), TS__C(TEXT) },
        // mark
        { TS__C(START), TS__C(SITE) },
        // message
        { TS__C(START), TS__C(SITE), TS__C(TEXT) },
        // counter
        { TS__C(START), TS__C(TYPE), TS__C(VALUE) },
        // frame
        { TS__C(START), TS__C(SITE) },
        // alloc
        { TS__C(START), TS__C(ADDRESS), TS__C(SIZE), TS__C(POOL),
          TS__C(CATEGORY), TS__C(SITE), TS__C(STACK) },
        // free
        { TS__C(START), TS__C(ADDRESS), TS__C(POOL) },
        // flow
        { TS__C(START), TS__C(ID), TS__C(PHASE) },
        // span
        { TS__C(START), TS__C(ID), TS__C(PHASE), TS__C(SITE) },
        // api_call
        { TS__C(START), TS__C(DURATION), TS__C(NAME), TS__C(CORRELATION),
          TS__C(RESULT), TS__C(STACK) },
        // dependency
        { TS__C(START), TS__C(TYPE), TS__C(CORRELATION), TS__C(RECORD) },
        // access
        { TS__C(START), TS__C(ADDRESS), TS__C(SIZE), TS__C(TYPE),
          TS__C(CORRELATION) },
        // sample
        { TS__C(START), TS__C(NAME), TS__C(UNIT), TS__C(TYPE), TS__C(VALUE),
          TS__C(STACK) },
        // kernel
        { TS__GPU, TS__C(LAUNCH), TS__C(GRAPH_NODE), TS__C(GRAPH) },
        // memcpy
        { TS__GPU, TS__C(TYPE), TS__C(SIZE), TS__C(SOURCE), TS__C(ADDRESS),
          TS__C(MEMORY), TS__C(PEER) },
        // memset
        { TS__GPU, TS__C(SIZE), TS__C(ADDRESS), TS__C(VALUE) },
        // event_record
        { TS__GPU, TS__C(ID) },
        // event_wait
        { TS__GPU, TS__C(ID), TS__C(RECORD) },
        // stream_sync
        { TS__GPU, TS__C(ID) },
        // device_sync
        { TS__GPU },
        // event_sync
        { TS__GPU, TS__C(ID) },
        // host_function
        { TS__GPU, TS__C(ADDRESS), TS__C(NAME) },
        // graph_launch
        { TS__GPU, TS__C(GRAPH) },
        // collective
        { TS__GPU, TS__C(NAME), TS__C(COMMUNICATOR), TS__C(SEQUENCE),
          TS__C(SIZE), TS__C(TYPE), TS__C(PEER), TS__C(RANKS), TS__C(LAUNCH) },
        // gpu_alloc
        { TS__GPU, TS__C(ADDRESS), TS__C(SIZE), TS__C(POOL), TS__C(MEMORY) },
        // gpu_free
        { TS__GPU, TS__C(ADDRESS), TS__C(POOL) },
    };
#undef TS__GPU
#undef TS__C
    if (kind >= TS_EVENT_LIMIT || !columns[kind][0]) return NULL;
    return columns[kind];
}

TS__SMALL_END

#ifndef TRACESMITH_DISABLE
