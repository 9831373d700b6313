/*
    values.c - the values of rows, and those that they refer to
*/
#include "tools/import/xctrace/xctrace.h"

// Numbers of ids are their texts; 0 is none.
static uint64_t id_of(const xml_text *text)
{
    uint64_t id = 0;
    for (size_t i = 0; i < text->size; i++) {
        const unsigned digit = (unsigned char)text->bytes[i] - '0';
        if (digit > 9 || id > UINT64_MAX / 16) return 0;
        id = id * 10 + digit;
    }
    return id;
}

static xctrace_text keep(xctrace *x, const xml_text *text)
{
    const xctrace_text kept = { x->text_size, text->size };
    if (!text->size) return kept;
    if (!cli_grow(&x->texts, &x->text_room, x->text_size + text->size, 1)) {
        x->no_memory = true;
        return (xctrace_text){ 0 };
    }
    memcpy(x->texts + x->text_size, text->bytes, text->size);
    x->text_size += text->size;
    return kept;
}

static xctrace_value *find(xctrace *x, uint64_t id)
{
    const uint64_t *const index = id ? cli_map_find(&x->value_of, id) : NULL;
    return index && *index ? &x->values[*index - 1] : NULL;
}

static void begin_value(xctrace *x, size_t depth)
{
    xctrace_value *const value = &x->open[depth];
    const xml_text *const attributes = x->xml->attributes;
    x->ids[depth] = id_of(&attributes[XML_ID]);
    *value = (xctrace_value){ .pid = IMPORT_NONE, .tid = IMPORT_NONE };
    if (attributes[XML_REF].size) {
        const xctrace_value *const known = find(x, id_of(&attributes[XML_REF]));
        if (known) *value = *known;
        if (!known) import_flaw(x->job, "unknown_reference");
        x->ids[depth] = 0;
        return;
    }
    value->is_there = strcmp(x->xml->name, "sentinel") != 0;
    value->fmt = keep(x, &attributes[XML_FMT]);
    if (strcmp(x->xml->name, "frame") != 0) return;
    const xml_text *const name = &attributes[XML_NAME_OF];
    const profile_function function = {
        .name = profile_name(&x->profile, name->bytes, name->size)
    };
    value->frame = profile_frame(&x->profile, &function);
    value->has_frame = true;
}

int64_t xctrace_number(const xctrace *x, const xctrace_value *value)
{
    int64_t number = 0;
    if (!value || !value->text.size || value->text.size > 18)
        return IMPORT_NONE;
    for (size_t i = 0; i < value->text.size; i++) {
        const char c = x->texts[value->text.at + i];
        if (c < '0' || c > '9') return IMPORT_NONE;
        number = number * 10 + (c - '0');
    }
    return number;
}

// Hands to the element around it what that has of its parts.
static void join(xctrace *x, xctrace_value *to, const xctrace_value *from)
{
    const char *const name = x->xml->name;
    if (from->has_frame) profile_push(&x->profile, &from->frame);
    if (!strcmp(name, "pid")) to->pid = xctrace_number(x, from);
    if (!strcmp(name, "tid")) to->tid = xctrace_number(x, from);
    if (!strcmp(name, "process")) to->pid = from->pid;
    if (!strcmp(name, "string") && !to->label.size) to->label = from->text;
    if (!strcmp(name, "backtrace")) to->stack = from->stack;
}

static void keep_value(xctrace *x, uint64_t id, const xctrace_value *value)
{
    uint64_t *const index = cli_map_at(&x->value_of, id);
    if (!index || !cli_grow(&x->values, &x->value_room, x->value_count + 1,
                            sizeof *x->values)) {
        x->no_memory = true;
        return;
    }
    x->values[x->value_count++] = *value;
    *index = x->value_count;
}

static void end_value(xctrace *x, size_t depth)
{
    xctrace_value *const value = &x->open[depth];
    if (!strcmp(x->xml->name, "backtrace") && !value->stack)
        value->stack = profile_stack(&x->profile, false);
    if (x->ids[depth]) keep_value(x, x->ids[depth], value);
    if (depth) {
        join(x, &x->open[depth - 1], value);
    } else if (x->cell_count < XCTRACE_COLUMNS) {
        x->cells[x->cell_count++] = *value;
    }
}

bool xctrace_read_row(xctrace *x)
{
    const size_t texts = x->text_size, values = x->value_count;
    size_t depth = 0; // open elements of the row
    x->cell_count = 0;
    for (;;) {
        switch (xml_next(x->xml)) {
        case XML_BEGIN:
            if (depth == XCTRACE_DEPTH) return false;
            begin_value(x, depth++);
            break;
        case XML_TEXT:
            if (depth && !x->open[depth - 1].text.size &&
                strspn(x->xml->text.bytes, " \t\r\n") < x->xml->text.size)
                x->open[depth - 1].text = keep(x, &x->xml->text);
            break;
        case XML_END:
            if (!depth) {
                // Without ids nothing refers to the texts of the row, which is
                // used before the next one is read.
                if (x->value_count == values) x->text_size = texts;
                return true;
            }
            end_value(x, --depth);
            break;
        default: return false;
        }
    }
}

void xctrace_values_close(xctrace *x)
{
    free(x->values);
    free(x->texts);
    cli_map_close(&x->value_of);
    cli_map_close(&x->streams);
}
