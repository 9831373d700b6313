/*
    payload.c - Nsight Systems: binary payloads of NVTX ranges

    Two tables have the layouts (schemas) by domain and number. A payload has
    one or more parts, each with a head of eight little-endian 32-bit words:

        domain, 0, schema, 0, size of the data (64 bits), size of the whole
        part (64 bits), data ...

    Source: exports of versions from 2024 on, and the types of entries in
    NVIDIA's nvToolsExtPayload.h. Arrays, strings and nested layouts are left
    out and counted.
*/
#include "tools/import/nsys/nsys.h"
#include "tools/cli/search.h"

enum { HEAD = 32, FIELDS_MOST = 1 << 16 };

struct nsys_field {
    int64_t domain, schema, index, type, offset;
    uint32_t name; // number in the trace; 0: none
    nsys_meaning meaning;
};

// Size and kind of a NVTX_PAYLOAD_ENTRY_TYPE_...
typedef struct payload_type {
    uint8_t size;
    char kind; // 's' signed, 'u' unsigned, 'f' floating point
} payload_type;

static payload_type type_of(int64_t type)
{
    static const payload_type types[] = {
        { 0, 0 },   { 1, 's' }, { 1, 'u' }, { 2, 's' }, { 2, 'u' }, // short
        { 4, 's' }, { 4, 'u' }, { 8, 's' }, { 8, 'u' },             // long
        { 8, 's' }, { 8, 'u' }, { 1, 's' }, { 1, 'u' },             // 8 bits
        { 2, 's' }, { 2, 'u' }, { 4, 's' }, { 4, 'u' },             // 32 bits
        { 8, 's' }, { 8, 'u' }, { 4, 'f' }, { 8, 'f' },             // double
        { 0, 0 },   { 8, 'u' }, { 8, 'u' } // long double, size, address
    };
    const size_t count = sizeof types / sizeof *types;
    return types[type > 0 && (size_t)type < count ? type : 0];
}

/* ---- Layouts ------------------------------------------------------------ */

static int compare(const void *one, const void *two)
{
    const struct nsys_field *const a = one, *const b = two;
    if (a->domain != b->domain) return a->domain < b->domain ? -1 : 1;
    if (a->schema != b->schema) return a->schema < b->schema ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

// Returns the meaning of a field by NCCL's name for it.
static nsys_meaning meaning_of(ts_text name)
{
    return cli_is_text(name, "NCCL communicator ID")   ? NSYS_COMMUNICATOR
           : cli_is_text(name, "Message size [bytes]") ? NSYS_MESSAGE_SIZE
           : cli_is_text(name, "Peer rank")            ? NSYS_PEER
                                                       : NSYS_ANYTHING;
}

static struct nsys_field *more_room(nsys *n)
{
    const size_t count = n->field_count;
    if (count == FIELDS_MOST) return NULL;
    if (!cli_grow(&n->fields, &n->field_room, count + 1, sizeof *n->fields)) {
        n->out_of_memory = true;
        return NULL;
    }
    return &n->fields[n->field_count++];
}

// Keeps the first of equal layouts: each process repeats them.
static void drop_repeated(nsys *n)
{
    size_t kept = 0;
    if (!n->field_count) return;
    qsort(n->fields, n->field_count, sizeof *n->fields, compare);
    for (size_t i = 1; i < n->field_count; i++)
        if (compare(&n->fields[kept], &n->fields[i]))
            n->fields[++kept] = n->fields[i];
    n->field_count = kept + 1;
}

void nsys_read_payloads(nsys *n)
{
    enum { DOMAIN_ID, SCHEMA, INDEX, FLAGS, TYPE, NAME, OFFSET, COLUMNS };
    static const char *const columns[COLUMNS] = {
        "domainId", "schemaId", "idx", "flags", "type", "name", "offset"
    };
    import_rows rows;
    import_rows_open(&rows, n->db, "NVTX_PAYLOAD_SCHEMA_ENTRIES", columns,
                     COLUMNS, 1u << NAME);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        ts_text name;
        name.text = import_rows_text(&rows, NAME, &name.size);
        struct nsys_field *const f = more_room(n);
        if (!f) continue;
        *f = (struct nsys_field){ v[DOMAIN_ID],
                                  v[SCHEMA],
                                  v[INDEX],
                                  v[TYPE],
                                  v[OFFSET] == IMPORT_NONE ? 0 : v[OFFSET],
                                  0,
                                  NSYS_ANYTHING };
        // These flags mean an array, a pointer or the like, which is left out.
        if (v[FLAGS] != IMPORT_NONE && v[FLAGS] & 0x7E) f->type = 0;
        if (!name.size) continue;
        f->name = import_name(n->job, name.text, name.size);
        f->meaning = meaning_of(name);
    }
    drop_repeated(n);
}

/* ---- Values ------------------------------------------------------------- */

static uint64_t word(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

static double real_of(uint64_t bits, size_t size)
{
    double real;
    float single;
    const uint32_t low = (uint32_t)bits;
    memcpy(&single, &low, sizeof single);
    memcpy(&real, &bits, sizeof real);
    return size == 4 ? (double)single : real;
}

static bool take_field(const struct nsys_field *f, const uint8_t *data,
                       uint64_t size, nsys_value *value)
{
    const payload_type type = type_of(f->type);
    if (!type.size || !f->name || f->offset < 0 || (uint64_t)f->offset > size ||
        size - (uint64_t)f->offset < type.size)
        return false;
    const uint64_t bits = word(data + f->offset, type.size);
    const unsigned up = 64 - 8u * type.size;
    *value = (nsys_value){ f->name, f->meaning, type.kind == 'f', 0, bits };
    if (type.kind == 'f')
        value->real = real_of(bits, type.size);
    else if (type.kind == 's')
        value->bits = (uint64_t)((int64_t)(bits << up) >> up);
    return true;
}

static const struct nsys_field *first_field(const nsys *n, int64_t domain,
                                            int64_t schema)
{
    size_t low = 0, high = n->field_count;
    while (low < high) { // find the first that is not less
        const size_t middle = cli_middle(low, high);
        const struct nsys_field *const f = &n->fields[middle];
        cli_halve(&low, &high,
                  f->domain < domain ||
                      (f->domain == domain && f->schema < schema));
    }
    return low < n->field_count ? &n->fields[low] : NULL;
}

size_t nsys_decode(const nsys *n, const uint8_t *bytes, size_t size,
                   nsys_value values[NSYS_VALUES])
{
    size_t count = 0;
    while (size >= HEAD) {
        const int64_t domain = (int64_t)word(bytes, 4);
        const int64_t schema = (int64_t)word(bytes + 8, 4);
        const uint64_t data = word(bytes + 16, 8), all = word(bytes + 24, 8);
        if (data > size - HEAD) break;
        const struct nsys_field *f = first_field(n, domain, schema);
        for (; f && f < n->fields + n->field_count && f->domain == domain &&
               f->schema == schema && count < NSYS_VALUES;
             f++)
            count += take_field(f, bytes + HEAD, data, &values[count]);
        if (all < HEAD || all > size) break;
        bytes += all;
        size -= (size_t)all;
    }
    return count;
}
