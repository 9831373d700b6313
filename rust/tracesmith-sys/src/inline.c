/*
    inline.c - the inline functions of tracesmith.h, for code that is not C

    The compiler puts their bodies here, so that what Rust calls is the same
    hot path as that of a C program built against this header.
*/
#include "inline.h"

ts_zone ts_rs_zone_begin(ts_site *site)
{
    return ts_zone_begin(site);
}

ts_zone ts_rs_zone_begin_site(uint32_t site)
{
    return ts_zone_begin_site(site);
}

ts_zone ts_rs_zone_begin_named(const char *name, ts_site *base)
{
    ts_zone zone = { 0, 0, 0 };
    ts__zone_begin_named(&zone, name, base);
    return zone;
}

// By value: it comes in two registers, and has no address.
void ts_rs_zone_end(ts_zone zone)
{
    ts_zone_end(&zone);
}

void ts_rs_zone_end_outer(ts_zone zone)
{
    ts_zone_end_outer(&zone);
}

void ts_rs_mark(ts_site *site)
{
    ts_mark(site);
}

void ts_rs_counter_int(ts_counter *counter, int64_t value)
{
    ts_counter_int(counter, value);
}

void ts_rs_alloc(const void *ptr, uint64_t size, uint32_t pool,
                 uint32_t category)
{
    ts_alloc(ptr, size, pool, category);
}

void ts_rs_free(const void *ptr, uint32_t pool)
{
    ts_free(ptr, pool);
}
