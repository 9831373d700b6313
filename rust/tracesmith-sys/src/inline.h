/*
    inline.h - what inline.c defines; src/record.rs declares the same
*/
#ifndef TS_RS_INLINE_H
#define TS_RS_INLINE_H

#include "tracesmith.h"

ts_zone ts_rs_zone_begin(ts_site *site);
ts_zone ts_rs_zone_begin_site(uint32_t site);
ts_zone ts_rs_zone_begin_named(const char *name, ts_site *base);
void ts_rs_zone_end(ts_zone zone);
void ts_rs_zone_end_outer(ts_zone zone);
void ts_rs_mark(ts_site *site);
void ts_rs_counter_int(ts_counter *counter, int64_t value);
void ts_rs_alloc(const void *ptr, uint64_t size, uint32_t pool,
                 uint32_t category);
void ts_rs_free(const void *ptr, uint32_t pool);

#endif // TS_RS_INLINE_H
