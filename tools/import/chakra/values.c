/*
    values.c - attributes of Chakra as numbers and as text

    Field 2k + 1 of an AttributeProto, from 3 on, is a value of a type, and
    field 2k + 2 a list of such values. Source: see read.c.
*/
#include "tools/import/chakra/chakra.h"
#include "tools/import/execution/execution.h"

#include <math.h>

typedef enum value_class {
    NO_VALUE,
    REAL,  // double, float
    PLAIN, // varint of two's complement, as int32 and int64
    UNSIGNED,
    ZIGZAG,
    FIXED,
    FIXED_SIGNED,
    TEXT
} value_class;

static value_class class_of(uint64_t field)
{
    static const uint8_t classes[] = { REAL,   REAL,         PLAIN,
                                       PLAIN,  UNSIGNED,     UNSIGNED,
                                       ZIGZAG, ZIGZAG,       FIXED,
                                       FIXED,  FIXED_SIGNED, FIXED_SIGNED,
                                       PLAIN,  TEXT,         TEXT };
    return field < 3 || field > 32 ? NO_VALUE
                                   : (value_class)classes[(field - 3) / 2];
}

bool chakra_is_value(uint64_t field)
{
    return class_of(field) != NO_VALUE;
}

// The bytes of a number of this field's type; 0: a varint.
static uint32_t width_of(uint64_t field)
{
    switch (field - (field % 2 == 0)) {
    case 3:
    case 21:
    case 25: return 8;
    case 5:
    case 19:
    case 23: return 4;
    default: return 0;
    }
}

static bool is_signed(value_class class)
{
    return class == PLAIN || class == ZIGZAG || class == FIXED_SIGNED;
}

// Returns the number in two's complement.
static uint64_t whole(uint64_t field, uint64_t bits)
{
    const value_class class = class_of(field);
    if (class == ZIGZAG) return bits >> 1 ^ (0 - (bits & 1));
    return class == FIXED_SIGNED && width_of(field) == 4
               ? (uint64_t)(int64_t)(int32_t)(uint32_t)bits
               : bits;
}

static double real(uint64_t field, uint64_t bits)
{
    double wide;
    float narrow;
    const uint32_t half = (uint32_t)bits;
    memcpy(&wide, &bits, sizeof wide);
    memcpy(&narrow, &half, sizeof narrow);
    return width_of(field) == 8 ? wide : (double)narrow;
}

int64_t chakra_number(uint64_t field, const import_field *f)
{
    static const uint8_t types[] = {
        [0] = IMPORT_VARINT, [4] = IMPORT_FIXED32, [8] = IMPORT_FIXED64
    };
    const value_class class = class_of(field);
    if (field % 2 == 0 || class < PLAIN || class == TEXT ||
        f->type != types[width_of(field)])
        return IMPORT_NONE;
    const uint64_t number = whole(field, f->value);
    return !is_signed(class) && number > INT64_MAX ? IMPORT_NONE
                                                   : (int64_t)number;
}

/* ---- As text ------------------------------------------------------------ */

static void put(chakra_text *to, const void *bytes, size_t size)
{
    if (size > EXECUTION_TEXT + 1 - to->size) {
        size = EXECUTION_TEXT + 1 - to->size; // one more: it is truncated
    }
    if (!cli_grow(&to->data, &to->room, to->size + size + 1, 1))
        to->no_memory = true;
    else if (size)
        memcpy(to->data + to->size, bytes, size);
    if (!to->no_memory) to->size += size;
}

static void put_number(chakra_text *to, uint64_t field, uint64_t bits)
{
    char text[40];
    const value_class class = class_of(field);
    const uint64_t number = whole(field, bits);
    const int size =
        class == REAL ? snprintf(text, sizeof text,
                                 width_of(field) == 8 ? "%.17g" : "%.9g",
                                 real(field, bits))
        : is_signed(class)
            ? snprintf(text, sizeof text, "%" PRId64, (int64_t)number)
            : snprintf(text, sizeof text, "%" PRIu64, number);
    put(to, text, (size_t)size);
}

// Puts a string of JSON, escaping only what must be.
static void put_string(chakra_text *to, import_wire w)
{
    put(to, "\"", 1);
    for (; w.at < w.end && to->size <= EXECUTION_TEXT; w.at++) {
        char escape[8];
        const bool is_plain = *w.at >= ' ' && *w.at != '"' && *w.at != '\\';
        const int size =
            is_plain ? 1
                     : snprintf(escape, sizeof escape,
                                *w.at < ' ' ? "\\u%04x" : "\\%c", *w.at);
        put(to, is_plain ? (const void *)w.at : escape, (size_t)size);
    }
    put(to, "\"", 1);
}

// Puts numbers one after the other. False: they are malformed.
static bool put_packed(chakra_text *to, uint64_t field, import_wire w)
{
    const uint32_t width = width_of(field);
    uint64_t bits;
    while (w.at < w.end && to->size <= EXECUTION_TEXT && !to->no_memory) {
        if (width ? !import_wire_fixed(&w, width, &bits)
                  : !import_wire_varint(&w, &bits))
            return false;
        if (to->size > 1) put(to, ",", 1);
        put_number(to, field, bits);
    }
    return true;
}

bool chakra_list_add(chakra_text *to, uint64_t field, const import_field *f)
{
    if (!to->size) put(to, "[", 1);
    if (f->type == IMPORT_BYTES && class_of(field) != TEXT)
        return put_packed(to, field, f->bytes);
    if (to->size > 1) put(to, ",", 1);
    if (f->type == IMPORT_BYTES)
        put_string(to, f->bytes);
    else
        put_number(to, field, f->value);
    return class_of(field) != TEXT || f->type == IMPORT_BYTES;
}

bool chakra_print(chakra_text *to, const chakra_attribute *a)
{
    const import_field *const value = &a->value;
    import_field f;
    to->size = 0;
    if (a->field % 2) {
        if (value->type == IMPORT_BYTES) return false;
        put_number(to, a->field, value->value);
        return class_of(a->field) != REAL ||
               isfinite(real(a->field, value->value));
    }
    if (!a->field || value->type != IMPORT_BYTES) return false;
    put(to, "[", 1);
    import_wire w = value->bytes;
    bool good = true;
    while (good && import_wire_field(&w, &f))
        good = f.number == 1 && chakra_list_add(to, a->field, &f);
    put(to, "]", 1);
    return good && w.at == w.end;
}
