/*
    tables.c - the definitions of an archive, by their numbers
*/
#include "tools/import/otf2/otf2.h"

#ifdef TRACESMITH_OTF2

void otf2_define(otf2 *o, const otf2_record *r, const char *bytes)
{
    otf2_table *const t = &o->tables[r->kind];
    if (!cli_grow(&t->rows, &t->room, t->count + 1, sizeof *t->rows) ||
        !cli_grow(&o->bytes, &o->room, o->size + r->size + 1, 1) ||
        t->count >= CLI_NONE || !cli_map_set(&t->map, r->v[0], t->count)) {
        o->no_memory = true;
        return;
    }
    otf2_row *const row = &t->rows[t->count++];
    *row = (otf2_row){ .at = o->size, .size = r->size };
    memcpy(row->v, r->v, sizeof row->v);
    if (r->size) memcpy(o->bytes + o->size, bytes, r->size);
    o->size += r->size;
    // All locations that communicate by a paradigm.
    if (r->kind == OTF2_MEMBERS && r->v[1] == OTF2_GROUP_TYPE_COMM_LOCATIONS)
        o->no_memory |= !cli_map_set(&o->communicating, r->v[3], t->count - 1);
}

static uint64_t property_key(bool is_group, uint64_t of, uint64_t property)
{
    return (of << 1 | is_group) * OTF2_PROPERTIES + property;
}

const uint64_t *otf2_find_property(const otf2 *o, bool is_group, uint64_t of,
                                   otf2_property property)
{
    return o->is_own ? cli_map_find(&o->properties,
                                    property_key(is_group, of, property))
                     : NULL;
}

void otf2_define_property(otf2 *o, const otf2_record *r)
{
    static const char *const names[OTF2_PROPERTIES] = {
        "TraceSmith::number", "TraceSmith::type", "TraceSmith::flags",
        "TraceSmith::context", "TraceSmith::none"
    };
    const ts_text name = otf2_text(o, r->v[2]);
    for (size_t i = 0; i < OTF2_PROPERTIES; i++)
        if (cli_is_text(name, names[i]))
            o->no_memory |= !cli_map_set(
                &o->properties, property_key(r->v[1], r->v[0], i), r->v[3]);
}

const otf2_row *otf2_find(const otf2 *o, otf2_kind kind, uint64_t id)
{
    const otf2_table *const t = &o->tables[kind];
    const uint32_t row = cli_map_row(&t->map, id);
    return row == CLI_NONE ? NULL : &t->rows[row];
}

ts_text otf2_text(const otf2 *o, uint64_t string)
{
    const otf2_row *const row = otf2_find(o, OTF2_STRING, string);
    return row && row->size ? (ts_text){ o->bytes + row->at, row->size }
                            : (ts_text){ "", 0 };
}

uint64_t otf2_member(const otf2 *o, const otf2_row *row, uint64_t at,
                     size_t size)
{
    uint64_t wide = UINT64_MAX;
    uint32_t narrow;
    if (at >= row->size / size) return wide;
    const char *const from = o->bytes + row->at + at * size;
    memcpy(size == sizeof narrow ? (void *)&narrow : &wide, from, size);
    return size == sizeof narrow ? narrow : wide;
}

void otf2_free(otf2 *o)
{
    for (size_t i = 0; i < OTF2_KINDS; i++) {
        free(o->tables[i].rows);
        cli_map_close(&o->tables[i].map);
    }
    cli_map_close(&o->communicating);
    cli_map_close(&o->devices);
    cli_map_close(&o->sites);
    cli_map_close(&o->properties);
    cli_map_close(&o->posted);
    free(o->bytes);
    free(o->open);
    free(o->copies);
    free(o->messages);
}

#else
typedef int otf2_tables_need_otf2; // a file of C has a declaration
#endif
