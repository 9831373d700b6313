/*
    metrics.c - metrics as counters
*/
#include "tools/import/otf2/otf2.h"
#include <math.h>

#ifdef TRACESMITH_OTF2

// The track that a metric is of: that of the location that records it, unless
// it says of what else.
static uint32_t owner_of(otf2 *o, const otf2_row *instance)
{
    if (!instance) return o->track;
    switch (instance->v[2]) {
    case OTF2_SCOPE_LOCATION: return otf2_location_track(o, instance->v[3]);
    case OTF2_SCOPE_LOCATION_GROUP: return otf2_group_track(o, instance->v[3]);
    default: return 0; // a part of the system
    }
}

static double real_of(uint64_t type, uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    return type == OTF2_TYPE_DOUBLE  ? real
           : type == OTF2_TYPE_INT64 ? (double)(int64_t)bits
                                     : (double)bits;
}

// Multiplies an integer with base^exponent; false: the result is none.
static bool scale(int64_t *value, int64_t base, int64_t exponent)
{
    if (exponent < 0 || exponent > 62) return false;
    while (exponent-- > 0)
        if (__builtin_mul_overflow(*value, base, value)) return false;
    return true;
}

// Sets the columns type and value.
static void set_value(ts_writer_value *values, const otf2_record *r,
                      const otf2_row *member)
{
    const int64_t base = member->v[2] == OTF2_BASE_BINARY ? 2 : 10;
    const int64_t exponent = (int64_t)member->v[3];
    int64_t whole = (int64_t)r->v[3];
    const bool is_whole = r->v[2] != OTF2_TYPE_DOUBLE &&
                          (r->v[2] != OTF2_TYPE_UINT64 || whole >= 0);
    values[0].column = TS_COLUMN_TYPE;
    values[1].column = TS_COLUMN_VALUE;
    if (is_whole && scale(&whole, base, exponent)) {
        values[0].value = TS_VALUE_INT;
        values[1].value = (uint64_t)whole;
        return;
    }
    double real = real_of(r->v[2], r->v[3]);
    if (exponent) real *= pow((double)base, (double)exponent);
    values[0].value = TS_VALUE_DOUBLE;
    memcpy(&values[1].value, &real, sizeof real);
}

void otf2_take_metric(otf2 *o, const otf2_record *r, int64_t time_ns)
{
    const otf2_row *const instance = otf2_find(o, OTF2_INSTANCE, r->v[0]);
    const otf2_row *const class =
        otf2_find(o, OTF2_CLASS, instance ? instance->v[1] : r->v[0]);
    const otf2_row *const member =
        class ? otf2_find(o, OTF2_MEMBER, otf2_member(o, class, r->v[1], 4))
              : NULL;
    ts_writer_value values[2];
    if (!member) {
        import_bad(o->job, "unknown_metric", time_ns);
        return;
    }
    const ts_text name = otf2_text(o, member->v[1]);
    const ts_text unit = otf2_text(o, member->v[4]);
    const cli_text text = cli_format("%.*s", (int)unit.size, unit.text);
    const uint32_t track =
        import_counter_track(o->job, owner_of(o, instance), name.text,
                             name.size, unit.size ? text.s : NULL);
    set_value(values, r, member);
    import_event(o->job, TS_EVENT_COUNTER, track, time_ns, 0, values, 2);
}

#else
typedef int otf2_metrics_need_otf2; // a file of C has a declaration
#endif
