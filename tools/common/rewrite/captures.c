/*
    captures.c - copies captures, which are needed to run operations again
*/
#include "tools/common/rewrite/rewrite.h"
#include "tools/cli/search.h"

typedef struct operation { // a captured operation
    uint64_t correlation;
    uint32_t track, capture; // track: 0 for a graph, whose nodes may be on any;
                             // capture: index in the file
    bool kept;
} operation;

typedef struct blob { // a blob that captures refer to
    uint64_t hash[2];
    bool copied;
} blob;

struct copy_captures {
    operation *operations; // sorted by track, then correlation id
    size_t count;
    blob *blobs;
    size_t blob_count, blob_room;
    cli_index blob_index; // by hash
    uint32_t *images;     // copied images
    size_t image_count;
};

/* ---- Blobs --------------------------------------------------------------- */

// Returns NULL if no capture refers to the blob.
static blob *find_blob(const copy_captures *all, const uint64_t hash[2])
{
    uint32_t at;
    for (size_t i = 0;
         (at = cli_index_next(&all->blob_index, hash[0], &i)) != CLI_NONE;)
        if (!memcmp(all->blobs[at].hash, hash, 16)) return &all->blobs[at];
    return NULL;
}

// Adds a blob; *fresh is set if it was not added before.
static bool note_blob(copy_captures *all, const uint64_t hash[2], bool *fresh)
{
    *fresh = false;
    if ((!hash[0] && !hash[1]) || find_blob(all, hash)) return true;
    if (!cli_grow(&all->blobs, &all->blob_room, all->blob_count + 1,
                  sizeof *all->blobs) ||
        !cli_index_add(&all->blob_index, hash[0], (uint32_t)all->blob_count))
        return false;
    all->blobs[all->blob_count++] = (blob){ { hash[0], hash[1] }, false };
    return *fresh = true;
}

// Adds a list and the blobs that it names.
static bool note_list(copy_captures *all, ts_reader *reader,
                      const uint64_t list[2])
{
    const void *bytes;
    size_t size;
    bool fresh, ok = note_blob(all, list, &fresh);
    if (!ok || !fresh) return ok;
    ok = ts_reader_blob(reader, list, &bytes, &size) != TS_ERR_MEMORY;
    for (size_t at = 0; ok && bytes && size - at >= 16; at += 16) {
        uint64_t hash[2];
        memcpy(hash, (const char *)bytes + at, 16);
        ok = note_blob(all, hash, &fresh);
    }
    ts_reader_blobs_free(reader);
    return ok;
}

bool copy_is_captured(const copy *c, const uint64_t hash[2])
{
    const copy_captures *const all = c->captures;
    return all && find_blob(all, hash);
}

// Returns true at the first call for a blob, so that it is written once.
static bool is_due(copy *c, const uint64_t hash[2])
{
    blob *const b = find_blob(c->captures, hash);
    if (!b || b->copied) return false;
    return b->copied = true;
}

static void put_blob(copy *c, const uint64_t hash[2])
{
    if (is_due(c, hash)) copy_blob(c, hash);
}

// Writes a list and its blobs, inflating one at a time.
static void put_list(copy *c, const uint64_t list[2])
{
    const void *bytes;
    size_t size;
    if ((!list[0] && !list[1]) || !is_due(c, list)) return;
    c->no_memory |=
        ts_reader_blob(c->reader, list, &bytes, &size) == TS_ERR_MEMORY;
    char *const own = malloc(size + 1);
    c->no_memory |= !own;
    if (own && bytes) memcpy(own, bytes, size);
    if (own && bytes) copy_blob(c, list);
    for (size_t at = 0; own && bytes && size - at >= 16; at += 16) {
        uint64_t hash[2];
        memcpy(hash, own + at, 16);
        put_blob(c, hash);
    }
    free(own);
}

/* ---- Which there are ----------------------------------------------------- */

static int by_key(const void *left, const void *right)
{
    const operation *const a = left, *const b = right;
    if (a->track != b->track) return a->track < b->track ? -1 : 1;
    if (a->correlation != b->correlation)
        return a->correlation < b->correlation ? -1 : 1;
    return (a->capture > b->capture) - (a->capture < b->capture);
}

static bool note_operation(copy_captures *all, ts_reader *reader,
                           const ts_capture *from, uint32_t capture)
{
    const bool graph = from->head.kind == TS_EVENT_GRAPH_LAUNCH;
    const operation key = { from->head.correlation,
                            graph ? 0 : from->head.track, capture, false };
    bool ok = true;
    all->operations[all->count++] = key;
    for (uint32_t i = 0; ok && i < from->head.region_count; i++)
        ok = note_list(all, reader, from->regions[i].before) &&
             note_list(all, reader, from->regions[i].after);
    return ok;
}

bool copy_captures_find(copy *c)
{
    const size_t count = ts_reader_capture_count(c->reader);
    copy_captures *const all = calloc(1, sizeof *all);
    ts_capture_image image;
    ts_capture from;
    c->captures = all;
    if (all) all->operations = calloc(count + 1, sizeof *all->operations);
    bool ok = all && all->operations, fresh;
    for (size_t i = 0; ok && ts_reader_image_at(c->reader, i, &image); i++)
        ok = note_blob(all, image.hash, &fresh);
    for (size_t i = 0; ok && i < count; i++)
        if (ts_reader_capture(c->reader, i, &from))
            ok = note_operation(all, c->reader, &from, (uint32_t)i);
    if (!ok) return false;
    qsort(all->operations, all->count, sizeof *all->operations, by_key);
    return true;
}

void copy_captures_close(copy *c)
{
    if (!c->captures) return;
    free(c->captures->operations);
    free(c->captures->blobs);
    cli_index_close(&c->captures->blob_index);
    free(c->captures->images);
    free(c->captures);
    c->captures = NULL;
}

static void keep_on(copy_captures *all, uint32_t track, uint64_t correlation)
{
    size_t low = 0, high = all->count;
    while (low < high) {
        const size_t middle = cli_middle(low, high);
        const operation *const o = &all->operations[middle];
        cli_halve(&low, &high,
                  o->track < track ||
                      (o->track == track && o->correlation < correlation));
    }
    for (; low < all->count; low++) {
        operation *const o = &all->operations[low];
        if (o->track != track || o->correlation != correlation) break;
        o->kept = true;
    }
}

void copy_captures_keep(copy *c, uint32_t track, uint64_t correlation)
{
    if (!c->captures) return;
    keep_on(c->captures, track, correlation);
    if (correlation) keep_on(c->captures, 0, correlation);
}

/* ---- Records ------------------------------------------------------------- */

// Writes a code image once, before the first operation that refers to it.
// Returns its new number.
static uint32_t put_image(copy *c, uint32_t id)
{
    copy_captures *const all = c->captures;
    const uint32_t to = copy_image_id(c, id);
    ts_capture_image image;
    for (size_t i = 0; i < all->image_count; i++)
        if (all->images[i] == id) return to;
    uint32_t *const more =
        realloc(all->images, (all->image_count + 1) * sizeof *more);
    c->no_memory |= !more;
    if (!id || !more) return 0;
    all->images = more;
    more[all->image_count++] = id;
    if (!ts_reader_image(c->reader, id, &image)) return to;
    put_blob(c, image.hash);
    image.id = to;
    image.module = copy_module_id(c, image.module);
    image.vendor = copy_name(c, COPY_VALUE, image.vendor);
    image.options = copy_name(c, COPY_VALUE, image.options);
    ts_writer_capture(c->writer, &image, sizeof image);
    return to;
}

static void put_regions(copy *c, uint8_t *at, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        ts_capture_region r;
        memcpy(&r, at + i * sizeof r, sizeof r);
        put_list(c, r.before);
        put_list(c, r.after);
        if (r.device) r.device = copy_track_id(c, r.device);
        if (r.image) r.image = put_image(c, r.image);
        memcpy(at + i * sizeof r, &r, sizeof r);
    }
}

// Converts the numbers of images and kernels in the nodes of a graph.
static void put_nodes(copy *c, uint8_t *bytes, uint64_t size)
{
    const ts_attributes all = { bytes, size };
    ts_attribute one;
    ts_capture_operation node;
    for (uint64_t at = 0; ts_attribute_next(&all, &at, &one);) {
        if (one.id != TS_ATTRIBUTE_NODE) continue;
        uint8_t *const to = bytes + ((const uint8_t *)one.bytes - bytes);
        memcpy(&node, to, sizeof node);
        if (node.image) node.image = put_image(c, node.image);
        if (node.track) node.track = copy_track_id(c, node.track);
        node.name = copy_name(c, COPY_KERNEL, node.name);
        memcpy(to, &node, sizeof node);
    }
}

static bool put_operation(copy *c, const ts_capture *from)
{
    ts_capture_operation head = from->head;
    // The data after the head is laid out as in the record.
    const size_t regions = (size_t)((const uint8_t *)from->regions -
                                    (const uint8_t *)from->params);
    const size_t size = regions + head.region_count * sizeof *from->regions +
                        (size_t)from->attributes.size;
    uint8_t *const record = malloc(sizeof head + size);
    if (!record) return false;
    memcpy(record + sizeof head, from->params, size);
    put_regions(c, record + sizeof head + regions, head.region_count);
    if (head.kind == TS_EVENT_GRAPH_LAUNCH)
        put_nodes(c, record + sizeof head + size - from->attributes.size,
                  from->attributes.size);
    if (head.image) head.image = put_image(c, head.image);
    head.track = copy_track_id(c, head.track);
    head.correlation = copy_value(c, (ts_event_kind)head.kind,
                                  TS_COLUMN_CORRELATION, head.correlation);
    head.order = copy_order(c, head.order);
    head.name = copy_name(c, COPY_KERNEL, head.name);
    head.vendor = copy_name(c, COPY_VALUE, head.vendor);
    memcpy(record, &head, sizeof head);
    ts_writer_capture(c->writer, record, sizeof head + size);
    free(record);
    return true;
}

ts_result copy_captures_write(copy *c, bool all)
{
    const copy_captures *const captures = c->captures;
    bool *const kept = calloc(captures->count + 1, 1);
    ts_capture from;
    bool ok = kept != NULL;
    for (size_t i = 0; ok && i < captures->count; i++)
        kept[captures->operations[i].capture] =
            all || captures->operations[i].kept;
    for (uint32_t i = 0; ok && i < captures->count;
         i++) // in the order of the file
        if (kept[i] && ts_reader_capture(c->reader, i, &from))
            ok = put_operation(c, &from);
    free(kept);
    return ok && !c->no_memory ? TS_OK : TS_ERR_MEMORY;
}
