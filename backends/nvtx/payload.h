/*
    nvtx/payload.h - payload schemas, an extension of NVTX

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Checked with:   NVTX 3 of CUDA 13.0 (payload 0x0104), x86-64, November
                    2026.

    Fields of a payload become values of the zone that carries it, named as
    in the schema: "size", "peer.rank", "dims[1]". Marks and spans have no
    values: theirs become a message "NAME: field=value ..." at that moment.

    Scopes and time domains get numbers and are not kept. Bytes are read as
    the program's own schemas say: a wrong pointer in them cannot be
    detected.

    CONTENTS                            search for "==== 2." to jump
        1. What NVTX passes
        2. Schemas
        3. Values
        4. Payloads
*/
#ifndef TS__NVTX_PAYLOAD_H
#define TS__NVTX_PAYLOAD_H

#include "tracesmith.h"
#include "../ts_filter.h"
#include "state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== 1. What NVTX passes ================================================ */

// tests/checks/capture/nvtx_abi.c compares these with NVIDIA's headers.
typedef struct ts__nv_data { // nvtxPayloadData_v1
    uint64_t schema;
    size_t size; // SIZE_MAX: unknown
    const void *bytes;
} ts__nv_data;

typedef struct ts__nv_semantics { // nvtxSemanticsHeader_v1
    uint32_t size;
    uint16_t id, version;
    const struct ts__nv_semantics *next;
} ts__nv_semantics;

typedef struct ts__nv_entry { // nvtxPayloadSchemaEntry_v1
    uint64_t flags, type;
    const char *name, *description;
    uint64_t detail, offset;
    const ts__nv_semantics *semantics;
    const void *reserved;
} ts__nv_entry;

typedef struct ts__nv_schema_attributes { // nvtxPayloadSchemaAttr_v1
    uint64_t mask;
    const char *name;
    uint64_t type, flags;
    const ts__nv_entry *entries;
    size_t count, static_size, align;
    uint64_t id;
    void *extension;
} ts__nv_schema_attributes;

typedef struct ts__nv_enum_value { // nvtxPayloadEnum_v1
    const char *name;
    uint64_t value;
    int8_t is_flag;
} ts__nv_enum_value;

typedef struct ts__nv_enum_attributes { // nvtxPayloadEnumAttr_v1
    uint64_t mask;
    const char *name;
    const ts__nv_enum_value *entries;
    size_t count, size;
    uint64_t id;
    void *extension;
} ts__nv_enum_attributes;

typedef struct ts__nv_counter_attributes { // nvtxCounterAttr_v1
    size_t size;
    uint64_t schema;
    const char *name, *description;
    uint64_t scope;
    const ts__nv_semantics *semantics;
    uint64_t id;
} ts__nv_counter_attributes;

typedef struct ts__nv_counter_semantics { // nvtxSemanticsCounter_v1, its begin
    ts__nv_semantics header;
    uint64_t flags;
    const char *unit;
} ts__nv_counter_semantics;

typedef struct ts__nv_segment { // nvtxExtModuleSegment_t
    size_t id, count;
    intptr_t *slots;
} ts__nv_segment;

typedef struct ts__nv_module { // nvtxExtModuleInfo_t
    uint16_t version, size, module, compatible;
    size_t segment_count;
    ts__nv_segment *segments;
    void *get_export;
    const void *more;
} ts__nv_module;

enum { // flags of entries
    TS__NV_POINTER = 1 << 1,
    TS__NV_FROM_BASE = 1 << 2,
    TS__NV_FROM_HERE = 1 << 3,
    TS__NV_ARRAY = 7 << 4, // mask for the kind of array:
    TS__NV_FIXED = 1 << 4,
    TS__NV_TO_ZERO = 2 << 4,
    TS__NV_BY_ENTRY = 3 << 4,
    TS__NV_DEEP = 1 << 8,
    TS__NV_HIDE = 1 << 9,
    TS__NV_MESSAGE = 1 << 10
};

enum { // types of schemas, and bits for the valid fields of their attributes
    TS__NV_STATIC = 1,
    TS__NV_DYNAMIC = 2,
    TS__NV_UNION = 3,
    TS__NV_UNION_SELF = 4,
    TS__NV_HAS_NAME = 1 << 1,
    TS__NV_HAS_TYPE = 1 << 2,
    TS__NV_HAS_FLAGS = 1 << 3,
    TS__NV_HAS_ENTRIES = 1 << 4,
    TS__NV_HAS_COUNT = 1 << 5,
    TS__NV_HAS_SIZE = 1 << 6,
    TS__NV_HAS_ALIGN = 1 << 7,
    TS__NV_HAS_ID = 1 << 8,
    TS__NV_ENUM_ENTRIES = 1 << 2,
    TS__NV_ENUM_COUNT = 1 << 3,
    TS__NV_ENUM_SIZE = 1 << 4,
    TS__NV_ENUM_ID = 1 << 5
};

/* ==== 2. Schemas ========================================================= */

// A schema, an enumeration or a counter, by domain and id; never freed.
typedef struct ts__nv_schema {
    struct ts__nv_schema *next; // the next one in its bucket
    const void *domain;
    uint64_t id, type, flags;
    char *name;
    ts__nv_entry *entries;     // a copy, with copies of the names
    ts__nv_enum_value *values; // for enumerations
    size_t count, size, align, pack;
} ts__nv_schema;

typedef struct ts__nv_field { // the counter of one field of a group
    struct ts__nv_field *next;
    ts_counter counter;
} ts__nv_field;

typedef struct ts__nv_counter {
    struct ts__nv_counter *next;
    const void *domain;
    uint64_t id, schema;
    char *name, *unit;
    ts__nv_field *fields;
} ts__nv_counter;

enum {
    TS__NV_BUCKETS = 256,
    TS__NV_DEEPEST = 8, // nested schemas
    TS__NV_SHOWN = 16,  // elements shown of an array
    TS__NV_WORK = 1000  // schemas decoded per event
};
static struct {
    ts__nv_schema *schemas[TS__NV_BUCKETS];
    ts__nv_counter *counters[TS__NV_BUCKETS];
    uint64_t made; // ids assigned so far
} ts__np;

static uint32_t ts__np_bucket(const void *domain, uint64_t id)
{
    const uint64_t both =
        (id ^ (uint64_t)(uintptr_t)domain) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(both >> 56);
}

// Returns the program's id, or assigns one from the range that NVTX reserves
// for tools.
static uint64_t ts__np_number(uint64_t given)
{
    const uint64_t first = UINT64_C(1) << 32;
    return given
               ? given
               : first + __atomic_add_fetch(&ts__np.made, 1, __ATOMIC_RELAXED);
}

static const ts__nv_schema *ts__np_schema(const void *domain, uint64_t id)
{
    // acquire: pairs with the release in ts__np_add
    const ts__nv_schema *s = __atomic_load_n(
        &ts__np.schemas[ts__np_bucket(domain, id)], __ATOMIC_ACQUIRE);
    while (s && (s->domain != domain || s->id != id))
        s = s->next;
    return s;
}

static uint64_t ts__np_add(ts__nv_schema *s)
{
    ts__nv_schema **const list =
        &ts__np.schemas[ts__np_bucket(s->domain, s->id)];
    s->next = __atomic_load_n(list, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(list, &s->next, s, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
    return s->id;
}

// Size and kind of predefined types. kind: i u f signed, unsigned, float; h b
// half precision and bfloat16; s S W texts; r a registered string.
typedef struct ts__nv_type {
    uint8_t size;
    char kind;
} ts__nv_type;

static ts__nv_type ts__np_type(uint64_t type)
{
    // NVTX_PAYLOAD_ENTRY_TYPE_...; types of C have this machine's sizes.
    enum { LONG = sizeof(long), LAST = sizeof(long double) };
    static const struct {
        uint8_t type, size;
        char kind;
    } known[] = {
        { 1, 1, 'i' },     { 2, 1, 'u' },     { 3, 2, 'i' },
        { 4, 2, 'u' },     { 5, 4, 'i' },     { 6, 4, 'u' },
        { 7, LONG, 'i' },  { 8, LONG, 'u' },  { 9, 8, 'i' },
        { 10, 8, 'u' },    { 11, 1, 'i' },    { 12, 1, 'u' },
        { 13, 2, 'i' },    { 14, 2, 'u' },    { 15, 4, 'i' },
        { 16, 4, 'u' },    { 17, 8, 'i' },    { 18, 8, 'u' },
        { 19, 4, 'f' },    { 20, 8, 'f' },    { 21, LAST, 'l' },
        { 22, LONG, 'u' }, { 23, LONG, 'u' }, { 24, 4, 'u' },
        { 25, 1, 'u' },    { 26, 2, 'u' },    { 27, 4, 'u' },
        { 32, 1, 'u' },    { 33, 16, 'q' },   { 34, 16, 'q' },
        { 42, 2, 'h' },    { 43, 4, 'f' },    { 44, 8, 'f' },
        { 45, 16, 'q' },   { 50, 2, 'b' },    { 52, 4, 'f' },
        { 68, 4, 'u' },    { 69, 4, 'u' },    { 70, 8, 'u' },
        { 71, 4, 'u' },    { 72, 8, 'u' },    { 73, 4, 'u' },
        { 74, 8, 'u' },    { 75, 8, 's' },    { 76, 8, 's' },
        { 77, 8, 'S' },    { 78, 8, 'W' },    { 80, 8, 'r' },
        { 100, 8, 'u' }, // selector of a union
    };
    ts__nv_type t = { 0, 0 };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].type == type) {
            t.size = known[i].size;
            t.kind = known[i].kind;
        }
    return t;
}

// Returns size and alignment of an entry's type; 0: unknown or not fixed.
static size_t ts__np_size_of(const void *domain, uint64_t type, size_t *align)
{
    const ts__nv_type known = ts__np_type(type);
    const ts__nv_schema *const s =
        known.size ? NULL : ts__np_schema(domain, type);
    *align = known.size ? known.size : s ? s->align : 1;
    return known.size ? known.size : s ? s->size : 0;
}

// Computes the offsets of a schema's entries, if it has none, by the rules of
// C.
static void ts__np_lay_out(ts__nv_schema *s, size_t pack)
{
    const bool over_each_other =
        s->type == TS__NV_UNION || s->type == TS__NV_UNION_SELF;
    size_t size = 0;
    s->align = 1;
    for (size_t i = 0; i < s->count; i++) {
        const ts__nv_entry *const e = &s->entries[i];
        size_t own = 1;
        size_t part = ts__np_size_of(s->domain, e->type, &own);
        if (e->flags & (TS__NV_POINTER | TS__NV_FROM_BASE | TS__NV_FROM_HERE))
            part = own = sizeof(void *);
        if ((e->flags & TS__NV_ARRAY) == TS__NV_FIXED && e->detail < 1u << 24)
            part *= (size_t)e->detail;
        if (pack && own > pack) own = pack;
        if (own > s->align) s->align = own;
        const size_t at = e->offset         ? (size_t)e->offset
                          : over_each_other ? 0
                                            : (size + own - 1) / own * own;
        if (at + part > size) size = at + part;
    }
    s->pack = pack;
    if (!s->size && s->type != TS__NV_DYNAMIC)
        s->size = (size + s->align - 1) / s->align * s->align;
}

static void *ts__np_copy(const void *of, size_t count, size_t size)
{
    void *const copy = count && count < 4096 ? malloc(count * size) : NULL;
    if (copy) memcpy(copy, of, count * size);
    return copy;
}

static uint64_t ts__nv_SchemaRegister(void *domain,
                                      const ts__nv_schema_attributes *a)
{
    const uint64_t needed =
        TS__NV_HAS_TYPE | TS__NV_HAS_ENTRIES | TS__NV_HAS_COUNT;
    if (!a || (a->mask & needed) != needed || !a->entries) return 0;
    ts__nv_schema *const s = (ts__nv_schema *)calloc(1, sizeof *s);
    ts__nv_entry *const entries =
        (ts__nv_entry *)ts__np_copy(a->entries, a->count, sizeof *entries);
    if (!s || !entries) {
        free(s);
        free(entries);
        return 0;
    }
    for (size_t i = 0; i < a->count; i++)
        entries[i].name = entries[i].name ? ts__nv_copy(entries[i].name) : NULL;
    s->domain = ts__nv_domain_of(domain);
    s->id = ts__np_number(a->mask & TS__NV_HAS_ID ? a->id : 0);
    s->type = a->type;
    s->flags = a->mask & TS__NV_HAS_FLAGS ? a->flags : 0;
    s->name = a->mask & TS__NV_HAS_NAME ? ts__nv_copy(a->name) : NULL;
    s->entries = entries;
    s->count = a->count;
    s->size = a->mask & TS__NV_HAS_SIZE ? a->static_size : 0;
    ts__np_lay_out(s, a->mask & TS__NV_HAS_ALIGN ? a->align : 0);
    return ts__np_add(s);
}

static uint64_t ts__nv_EnumRegister(void *domain,
                                    const ts__nv_enum_attributes *a)
{
    const uint64_t needed = TS__NV_ENUM_ENTRIES | TS__NV_ENUM_COUNT;
    if (!a || (a->mask & needed) != needed || !a->entries) return 0;
    ts__nv_schema *const s = (ts__nv_schema *)calloc(1, sizeof *s);
    ts__nv_enum_value *const values =
        (ts__nv_enum_value *)ts__np_copy(a->entries, a->count, sizeof *values);
    if (!s || !values) {
        free(s);
        free(values);
        return 0;
    }
    for (size_t i = 0; i < a->count; i++)
        values[i].name = ts__nv_copy(values[i].name);
    s->domain = ts__nv_domain_of(domain);
    s->id = ts__np_number(a->mask & TS__NV_ENUM_ID ? a->id : 0);
    s->values = values;
    s->count = a->count;
    s->size =
        a->mask & TS__NV_ENUM_SIZE && a->size && a->size <= 8 ? a->size : 4;
    s->align = s->size;
    return ts__np_add(s);
}

/* ==== 3. Values ========================================================== */

// The destination of values: the innermost zone, a counter, or a text.
typedef struct ts__nv_out {
    const void *domain;
    bool zone;
    uint32_t work;
    ts__nv_counter *counter;
    char path[160]; // names of the structures around a value
    char text[1000];
    size_t used;
    char message[256]; // text of an entry that names the whole event
} ts__nv_out;

static void ts__np_text(ts__nv_out *out, const char *value)
{
    if (out->counter) return;
    const char *const name = *out->path ? out->path : "payload";
    char line[600];
    snprintf(line, sizeof line, "%s=%.400s", name, value);
    if (out->zone) {
        ts_zone_text(line);
        return;
    }
    const int more =
        snprintf(out->text + out->used, sizeof out->text - out->used, "%s%s",
                 out->used ? " " : "", line);
    if (more > 0) out->used += (size_t)more;
    if (out->used >= sizeof out->text) out->used = sizeof out->text - 1;
}

// Returns the counter of a field and creates it at its first sample. Two
// threads may both create one; they have the same name and so the same track.
static ts_counter *ts__np_field(ts__nv_counter *c, const char *path)
{
    char name[400];
    const char *const domain = ((const ts__nv_domain *)c->domain)->name;
    snprintf(name, sizeof name, "%s%s%s%s%s", domain ? domain : "",
             domain ? ": " : "", c->name, *path ? "." : "", path);
    // acquire: pairs with the release below
    ts__nv_field *f = __atomic_load_n(&c->fields, __ATOMIC_ACQUIRE);
    while (f && strcmp(f->counter.name, name) != 0)
        f = f->next;
    if (f) return &f->counter;
    f = (ts__nv_field *)calloc(1, sizeof *f);
    if (!f || !(f->counter.name = ts__nv_copy(name))) {
        free(f);
        return NULL;
    }
    if (c->unit) ts_counter_define(name, c->unit, 0);
    f->next = __atomic_load_n(&c->fields, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&c->fields, &f->next, f, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
    return &f->counter;
}

static void ts__np_int(ts__nv_out *out, int64_t value)
{
    char text[32];
    if (out->counter) {
        ts_counter *const c = ts__np_field(out->counter, out->path);
        if (c) ts_counter_int(c, value);
    } else if (out->zone) {
        ts_zone_value_int(*out->path ? out->path : "payload", value);
    } else {
        snprintf(text, sizeof text, "%lld", (long long)value);
        ts__np_text(out, text);
    }
}

static void ts__np_double(ts__nv_out *out, double value)
{
    char text[32];
    if (out->counter) {
        ts_counter *const c = ts__np_field(out->counter, out->path);
        if (c) ts_counter_double(c, value);
    } else if (out->zone) {
        ts_zone_value_double(*out->path ? out->path : "payload", value);
    } else {
        snprintf(text, sizeof text, "%.9g", value);
        ts__np_text(out, text);
    }
}

static void ts__np_uint(ts__nv_out *out, uint64_t value)
{
    if (value > INT64_MAX)
        ts__np_double(out, (double)value);
    else
        ts__np_int(out, (int64_t)value);
}

// IEEE 754 binary16
static double ts__np_half(uint16_t bits)
{
    const int exponent = bits >> 10 & 31;
    double value = (bits & 1023) / 1024.0 + (exponent ? 1 : 0);
    if (exponent == 31) { // infinity or NaN
        const uint64_t wide = UINT64_C(0x7ff) << 52 | (uint64_t)(bits & 1023)
                                                          << 42;
        memcpy(&value, &wide, sizeof value);
        return bits & 0x8000 ? -value : value;
    }
    for (int i = exponent ? exponent : 1; i < 15; i++)
        value /= 2;
    for (int i = exponent; i > 15; i--)
        value *= 2;
    return bits & 0x8000 ? -value : value;
}

static uint64_t ts__np_raw(const uint8_t *at, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, at, size < 8 ? size : 8);
    return value;
}

static int64_t ts__np_signed(uint64_t raw, size_t size)
{
    const unsigned unused = 64 - 8 * (unsigned)(size < 8 ? size : 8);
    return (int64_t)(raw << unused) >> unused;
}

static void ts__np_put_text(ts__nv_out *out, const char *text, bool message)
{
    if (!text) return;
    if (message)
        snprintf(out->message, sizeof out->message, "%.255s", text);
    else
        ts__np_text(out, text);
}

// Converts UTF-16 to UTF-8 by way of wchar_t.
static const char *ts__np_utf16(const uint16_t *from, char *text, size_t room)
{
    wchar_t wide[256];
    size_t n = 0;
    for (; from && *from && n + 1 < sizeof wide / sizeof *wide; from++) {
        uint32_t code = *from;
        if (code >> 10 == 0x36 && from[1] >> 10 == 0x37) { // a surrogate pair
            code = 0x10000 + ((code & 1023) << 10 | (from[1] & 1023));
            from++;
        }
        wide[n++] = (wchar_t)code;
    }
    wide[n] = 0;
    return from ? ts__nv_narrow(text, room, wide) : NULL;
}

static void ts__np_one(ts__nv_out *out, ts__nv_type type, const uint8_t *at,
                       bool message)
{
    const uint64_t raw = ts__np_raw(at, type.size);
    const void *const pointer = (const void *)(uintptr_t)raw;
    char text[600];
    float f;
    double d;
    long double l;
    switch (type.kind) {
    case 'i': ts__np_int(out, ts__np_signed(raw, type.size)); break;
    case 'u': ts__np_uint(out, raw); break;
    case 'f':
        memcpy(&f, at, sizeof f);
        memcpy(&d, at, type.size == 8 ? sizeof d : 0);
        ts__np_double(out, type.size == 8 ? d : (double)f);
        break;
    case 'l':
        memcpy(&l, at, sizeof l);
        ts__np_double(out, (double)l);
        break;
    case 'h': ts__np_double(out, ts__np_half((uint16_t)raw)); break;
    case 'b': {
        const uint32_t bits = (uint32_t)raw << 16;
        memcpy(&f, &bits, sizeof f);
        ts__np_double(out, (double)f);
        break;
    }
    case 's': ts__np_put_text(out, (const char *)pointer, message); break;
    case 'S':
        ts__np_put_text(
            out, ts__np_utf16((const uint16_t *)pointer, text, sizeof text),
            message);
        break;
    case 'W':
        if (pointer)
            ts__np_put_text(
                out, ts__nv_narrow(text, sizeof text, (const wchar_t *)pointer),
                message);
        break;
    case 'r':
        if (pointer)
            ts__np_put_text(out, ((const ts__nv_string *)pointer)->text,
                            message);
        break;
    default: // 128 bits: hexadecimal
        snprintf(text, sizeof text, "0x%016llx%016llx",
                 (unsigned long long)ts__np_raw(at + 8, 8),
                 (unsigned long long)raw);
        ts__np_text(out, text);
        break;
    }
}

// For flags shows each one that is set, otherwise the value's name.
static void ts__np_enum(ts__nv_out *out, const ts__nv_schema *s,
                        const uint8_t *at)
{
    const uint64_t raw = ts__np_raw(at, s->size);
    char text[400] = "";
    size_t used = 0;
    for (size_t i = 0; i < s->count && used < sizeof text; i++) {
        const ts__nv_enum_value *const v = &s->values[i];
        const bool is = v->is_flag ? v->value && (raw & v->value) == v->value
                                   : raw == v->value;
        if (!is || !v->name) continue;
        const int more = snprintf(text + used, sizeof text - used, "%s%s",
                                  used ? "|" : "", v->name);
        used += more > 0 ? (size_t)more : 0;
    }
    if (*text && !out->counter)
        ts__np_text(out, text);
    else
        ts__np_uint(out, raw);
}

/* ==== 4. Payloads ======================================================== */

typedef struct ts__nv_bytes { // the readable bytes of a payload
    const uint8_t *base;
    size_t size;
} ts__nv_bytes;

static bool ts__np_has(const ts__nv_bytes *b, uint64_t offset, uint64_t size)
{
    return offset <= b->size && size <= b->size - offset;
}

static size_t ts__np_decode(ts__nv_out *out, const ts__nv_schema *s,
                            const ts__nv_bytes *b, size_t from, uint32_t depth);

// Returns the value of an integral entry of the same payload: a length or a
// selector.
static uint64_t ts__np_sibling(const ts__nv_schema *s, const ts__nv_bytes *b,
                               const size_t *offsets, uint64_t index,
                               uint64_t before)
{
    if (index >= before || index >= s->count) return 0;
    const ts__nv_type t = ts__np_type(s->entries[index].type);
    if (!t.size || !ts__np_has(b, offsets[index], t.size)) return 0;
    return ts__np_raw(b->base + offsets[index], t.size);
}

// Decodes one element of an entry. Returns its size, 0 if it cannot be read.
static size_t ts__np_element(ts__nv_out *out, const ts__nv_entry *e,
                             const ts__nv_bytes *b, size_t at, uint64_t member,
                             uint32_t depth)
{
    const ts__nv_type type = ts__np_type(e->type);
    const ts__nv_schema *const s =
        type.size ? NULL : ts__np_schema(out->domain, e->type);
    size_t align = 0;
    const size_t size =
        type.size ? type.size : ts__np_size_of(out->domain, e->type, &align);
    if ((!type.size && !s) || !ts__np_has(b, at, size)) return 0;
    if (e->flags & TS__NV_HIDE) return size;
    if (type.size) {
        ts__np_one(out, type, b->base + at, (e->flags & TS__NV_MESSAGE) != 0);
    } else if (s->values) {
        ts__np_enum(out, s, b->base + at);
    } else if (s->type == TS__NV_UNION) {
        if (member >= s->count) return size; // no entry selects the member
        ts__nv_schema one = *s;
        one.entries += member;
        one.count = 1;
        one.type = TS__NV_STATIC;
        ts__np_decode(out, &one, b, at, depth + 1);
    } else if (s->type == TS__NV_DYNAMIC) {
        return ts__np_decode(out, s, b, at, depth + 1);
    } else {
        ts__np_decode(out, s, b, at, depth + 1);
    }
    return size;
}

// Characters stored in the payload itself form one text.
static size_t ts__np_chars(ts__nv_out *out, const ts__nv_entry *e,
                           const ts__nv_bytes *b, size_t at, uint64_t count)
{
    char text[400];
    if (!ts__np_has(b, at, 0)) return 0;
    const size_t most = b->size - at < count ? b->size - at : (size_t)count;
    const size_t size = strnlen((const char *)b->base + at, most);
    snprintf(text, sizeof text, "%.*s",
             (int)(size < sizeof text ? size : sizeof text - 1),
             (const char *)b->base + at);
    if (!(e->flags & TS__NV_HIDE))
        ts__np_put_text(out, text, (e->flags & TS__NV_MESSAGE) != 0);
    return (e->flags & TS__NV_ARRAY) == TS__NV_TO_ZERO ? size + 1 : most;
}

// Returns the number of elements of an entry; UINT64_MAX: zero-terminated.
static uint64_t ts__np_count(const ts__nv_schema *s, const ts__nv_entry *e,
                             const ts__nv_bytes *b, const size_t *offsets)
{
    switch (e->flags & TS__NV_ARRAY) {
    case 0: return 1;
    case TS__NV_FIXED: return e->detail;
    case TS__NV_TO_ZERO: return UINT64_MAX;
    case TS__NV_BY_ENTRY:
        return ts__np_sibling(s, b, offsets, e->detail,
                              (uint64_t)(e - s->entries));
    default: return 0; // in another payload of the event
    }
}

// Decodes all elements of an entry. Returns the bytes that they take.
static size_t ts__np_elements(ts__nv_out *out, const ts__nv_entry *e,
                              const ts__nv_bytes *b, size_t at, uint64_t count,
                              uint64_t member, uint32_t depth)
{
    const ts__nv_type type = ts__np_type(e->type);
    const bool array = (e->flags & TS__NV_ARRAY) != 0;
    const size_t path = strlen(out->path);
    size_t used = 0;
    if (array && (e->type == 1 || e->type == 25)) // CHAR, CHAR8
        return ts__np_chars(out, e, b, at, count);
    for (uint64_t i = 0; i < count; i++) {
        const bool shown = i < TS__NV_SHOWN;
        if (count == UINT64_MAX &&
            (!type.size || !ts__np_has(b, at + used, type.size) ||
             !ts__np_raw(b->base + at + used, type.size)))
            return used + type.size;
        if (array)
            snprintf(out->path + path, sizeof out->path - path, "[%llu]",
                     (unsigned long long)i);
        ts__nv_entry hidden = *e;
        if (!shown) hidden.flags |= TS__NV_HIDE;
        // If the size of the type is fixed, the remaining elements are skipped.
        const size_t size =
            ts__np_element(out, &hidden, b, at + used, member, depth);
        out->path[path] = 0;
        if (!size) break;
        used += size;
        if (!shown && count != UINT64_MAX && type.size) {
            used = (size_t)(count * type.size);
            break;
        }
    }
    if (array && count != UINT64_MAX && count > TS__NV_SHOWN) {
        snprintf(out->path + path, sizeof out->path - path, ".count");
        ts__np_uint(out, count);
        out->path[path] = 0;
    }
    return used;
}

// Follows a pointer or an offset in an entry. Memory outside the payload is
// read only if the schema allows it.
static void ts__np_follow(ts__nv_out *out, const ts__nv_schema *s,
                          const ts__nv_entry *e, const ts__nv_bytes *b,
                          size_t at, uint64_t count, uint32_t depth)
{
    ts__nv_entry there = *e;
    if (!ts__np_has(b, at, sizeof(void *))) return;
    const uint64_t raw = ts__np_raw(b->base + at, sizeof(void *));
    const bool deep = e->flags & TS__NV_DEEP || s->flags & 1 << 1;
    const uintptr_t base = (uintptr_t)b->base;
    there.flags &=
        ~(uint64_t)(TS__NV_POINTER | TS__NV_FROM_BASE | TS__NV_FROM_HERE);
    ts__nv_bytes bytes = *b;
    size_t offset = (size_t)raw;
    if (e->flags & TS__NV_FROM_HERE) offset += at;
    if (e->flags & TS__NV_POINTER) {
        offset = raw - base;
        if (raw - base >= b->size) { // outside the payload
            if (!deep || !raw) {
                if (!(e->flags & TS__NV_HIDE)) ts__np_uint(out, raw);
                return;
            }
            bytes.base = (const uint8_t *)(uintptr_t)raw;
            // Limit for memory that the schema promises.
            bytes.size = (size_t)1 << 20;
            offset = 0;
        }
    }
    ts__np_elements(out, &there, &bytes, offset, count, 0, depth);
}

// Returns the number of bytes decoded.
static size_t ts__np_decode(ts__nv_out *out, const ts__nv_schema *s,
                            const ts__nv_bytes *b, size_t from, uint32_t depth)
{
    enum { MOST = 64 };
    size_t offsets[MOST], next = from;
    uint64_t selected = UINT64_MAX;
    const size_t path = strlen(out->path);
    // Schemas may contain themselves.
    if (depth >= TS__NV_DEEPEST || ++out->work > TS__NV_WORK) return 0;
    for (size_t i = 0; i < s->count && i < MOST; i++) {
        const ts__nv_entry *const e = &s->entries[i];
        const bool elsewhere =
            e->flags & (TS__NV_POINTER | TS__NV_FROM_BASE | TS__NV_FROM_HERE);
        size_t align = 1;
        ts__np_size_of(out->domain, e->type, &align);
        if (elsewhere) align = sizeof(void *);
        if (s->pack && align > s->pack) align = s->pack;
        if (!align) align = 1;
        size_t at = (next - from + align - 1) / align * align + from;
        if (e->offset && e->offset < b->size) at = from + (size_t)e->offset;
        if (s->type == TS__NV_UNION_SELF && selected != UINT64_MAX &&
            i != selected)
            continue; // the members follow the selector
        offsets[i] = at;
        if (e->name)
            snprintf(out->path + path, sizeof out->path - path, "%s%s",
                     path ? "." : "", e->name);
        const uint64_t count = ts__np_count(s, e, b, offsets);
        // For a union the entry's detail is the index of the sibling that
        // selects.
        const uint64_t member =
            e->flags & TS__NV_ARRAY
                ? 0
                : ts__np_sibling(s, b, offsets, e->detail, i);
        if (elsewhere) {
            ts__np_follow(out, s, e, b, at, count, depth);
            next = at + sizeof(void *);
        } else if (e->type == 100) { // the selector of this union
            const size_t size = ts__np_type(e->type).size;
            if (!ts__np_has(b, at, size)) break;
            selected = ts__np_raw(b->base + at, size);
            next = at + size;
        } else {
            const size_t used =
                ts__np_elements(out, e, b, at, count, member, depth);
            next = at + used;
        }
        out->path[path] = 0;
    }
    out->path[path] = 0;
    return next - from;
}

// Decodes one payload of an event: of a schema or a predefined type.
static void ts__np_data(ts__nv_out *out, const ts__nv_data *data)
{
    ts__nv_bytes b = { (const uint8_t *)data->bytes, data->size };
    const ts__nv_schema *const s = ts__np_schema(out->domain, data->schema);
    ts__nv_entry plain;
    memset(&plain, 0, sizeof plain);
    plain.type = data->schema;
    if (!data->bytes || (!s && !ts__np_type(data->schema).size)) return;
    size_t align = 0;
    const size_t size = ts__np_size_of(out->domain, data->schema, &align);
    // Unknown size: as large as the schema, or up to the end of a text.
    if (b.size == SIZE_MAX)
        b.size = s && s->type == TS__NV_DYNAMIC ? (size_t)1 << 16 : size;
    if (s && !s->values) {
        ts__np_decode(out, s, &b, 0, 0);
        return;
    }
    const uint64_t type = data->schema;
    if (!out->counter) memcpy(out->path, "payload", sizeof "payload");
    if (type == 75 || type == 76) { // the payload is the text itself
        char text[400];
        const size_t most =
            data->size < sizeof text ? data->size : sizeof text - 1;
        snprintf(text, sizeof text, "%.*s",
                 (int)strnlen((const char *)data->bytes, most),
                 (const char *)data->bytes);
        ts__np_text(out, text);
        out->path[0] = 0;
        return;
    }
    if (size && b.size / size > 1) { // an array of a predefined type
        plain.flags = TS__NV_FIXED;
        plain.detail = b.size / size;
    }
    ts__np_elements(out, &plain, &b, 0, plain.flags ? plain.detail : 1, 0, 0);
    out->path[0] = 0;
}

static void ts__np_all(ts__nv_out *out, const ts__nv_data *data, size_t count)
{
    for (size_t i = 0; data && i < count && i < 64; i++)
        ts__np_data(out, &data[i]);
}

static void ts__np_begin(ts__nv_out *out, const void *domain, bool zone)
{
    memset(out, 0, offsetof(ts__nv_out, text) + 1);
    out->used = 0;
    out->message[0] = 0;
    out->domain = domain;
    out->zone = zone;
}

// Writes the values of a mark or of a start/end range as a message.
static void ts__np_report(ts__nv_out *out, const char *name)
{
    char line[1400];
    if (!out->used || !ts_filter_kind(TS_EVENT_MESSAGE)) return;
    snprintf(line, sizeof line, "%s: %s", name, out->text);
    ts_message(line);
}

// Decodes the payloads in the attributes of a zone, or of an event that has no
// values.
static void ts__nv_extended(const ts__nv_domain *domain,
                            const ts__nv_attributes *a, const char *name)
{
    ts__nv_out out;
    ts__np_begin(&out, domain, name == NULL);
    ts__np_all(&out, (const ts__nv_data *)(uintptr_t)a->payload.u64,
               (size_t)(uint32_t)a->reserved);
    if (name) ts__np_report(&out, name);
}

#endif // TS__NVTX_PAYLOAD_H
