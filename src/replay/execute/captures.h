/* ---- Execution: captures ------------------------------------------------ */

TS_API const char *ts_reason_name(uint32_t reason)
{
    static const char *const names[] = {
#define TS__X(name, value, text) text,
        TS_REASONS(TS__X)
#undef TS__X
    };
    return reason < TS_REASON_LIMIT ? names[reason] : "unknown";
}

TS_API const char *ts_reason_text(uint32_t reason)
{
    static const char *const texts[TS_REASON_LIMIT] = {
        [TS_REASON_VA_UNAVAILABLE] = "its memory cannot get its recorded "
                                     "address",
        [TS_REASON_IMAGE_MISSING] =
            "its code is neither in the trace nor on this machine",
        [TS_REASON_IMAGE_ARCH] =
            "its code is for another type of device, or does not build",
        [TS_REASON_PARAM_LAYOUT_UNKNOWN] =
            "the layout of its arguments is unknown",
        [TS_REASON_UVM] = "managed or shared virtual memory",
        [TS_REASON_IPC] = "memory of another process",
        [TS_REASON_EXTERNAL_MEMORY] = "memory of another interface",
        [TS_REASON_MULTICAST] = "multicast memory",
        [TS_REASON_PEER] = "memory of a peer device that is not present",
        [TS_REASON_COLLECTIVE] = "it communicates with other processes",
        [TS_REASON_HOST_CALLBACK] = "a host function",
        [TS_REASON_DEVICE_HEAP] = "it allocates memory on the device",
        [TS_REASON_CDP] = "it launches kernels from the device",
        [TS_REASON_COND_GRAPH] = "a conditional node of a graph",
        [TS_REASON_DEVICE_UPDATABLE_NODE] =
            "a graph node that the device updates",
        [TS_REASON_TEXTURE_BINDLESS] = "texture handles in memory",
        [TS_REASON_STREAM_MEMOP] = "it waits for a value in memory",
        [TS_REASON_DRAIN_TIMEOUT] =
            "the device did not become idle in time during the capture",
        [TS_REASON_SNAPSHOT_BUDGET] =
            "its memory was not captured because the budget was reached",
        [TS_REASON_IN_CAPTURE] =
            "it was launched during a stream capture into a graph",
        [TS_REASON_ATTACHED_LATE] =
            "it uses an object that was created before recording started",
        [TS_REASON_ATTR_UNKNOWN] = "an unknown launch attribute",
        [TS_REASON_DRIVER_MISMATCH] =
            "the driver differs from the one that captured it",
        [TS_REASON_NOT_CAPTURED] = "it was not selected by --capture",
        [TS_REASON_MEMORY_MISSING] = "memory that it needs is not in the trace",
        [TS_REASON_GLOBAL_MOVED] =
            "a pointer refers to a variable whose address has changed",
        [TS_REASON_POINTER_DEAD] = "an argument points into freed memory",
        [TS_REASON_ESCAPE] =
            "it accessed memory that was not captured, or ended its process",
        [TS_REASON_TIMEOUT] = "it timed out",
        [TS_REASON_DEVICE_FAILED] = "the device rejected it, or failed before",
        [TS_REASON_BAD_CAPTURE] = "its record is invalid",
        [TS_REASON_NO_MEMORY] = "out of memory",
        [TS_REASON_TOO_MANY] =
            "the limit of kernels, streams or code files was exceeded",
        [TS_REASON_OTHER_BACKEND] =
            "it belongs to another vendor than the executed operations",
        [TS_REASON_ROW_MISSING] = "the event with its time and stream was lost",
    };
    const char *const text = reason < TS_REASON_LIMIT ? texts[reason] : NULL;
    return text ? text : "";
}

TS_API bool ts_event_has_contents(uint32_t kind)
{
    return kind == TS_EVENT_KERNEL || kind == TS_EVENT_MEMCPY ||
           kind == TS_EVENT_MEMSET || kind == TS_EVENT_HOST_FUNCTION ||
           kind == TS_EVENT_COLLECTIVE || kind == TS_EVENT_GRAPH_LAUNCH;
}

TS_API int ts_reader_file(const ts_reader *reader)
{
    return reader->path ? reader->fd : -1;
}

TS_API bool ts_attribute_next(const ts_attributes *all, uint64_t *at,
                              ts_attribute *found)
{
    ts_capture_attribute head;
    if (*at > all->size || all->size - *at < sizeof head) return false;
    memcpy(&head, all->bytes + *at, sizeof head);
    const uint64_t left = all->size - *at - sizeof head;
    const uint64_t whole = ((uint64_t)head.size + 7) & ~UINT64_C(7);
    if (whole > left) return false;
    found->id = head.id;
    found->size = head.size;
    found->bytes = all->bytes + *at + sizeof head;
    *at += sizeof head + whole;
    return true;
}

TS_API bool ts_attribute_find(const ts_attributes *all, uint32_t id,
                              uint32_t size, ts_attribute *found)
{
    uint64_t at = 0;
    while (ts_attribute_next(all, &at, found))
        if (found->id == id && found->size >= size) return true;
    return false;
}

static bool ts__capture_attributes_fit(const ts_attributes *all)
{
    ts_attribute one;
    uint64_t at = 0;
    while (ts_attribute_next(all, &at, &one))
        continue;
    return at == all->size;
}

TS_API bool ts_capture_node_next(const ts_capture *c, ts_capture_node *node)
{
    const uint64_t args = (uint64_t)node->args_at + node->head.args_size;
    ts_capture_node n = { .index = node->index + 1, .at = node->at };
    ts_attribute one, other;
    do
        if (!ts_attribute_next(&c->attributes, &n.at, &one)) return false;
    while (one.id != TS_ATTRIBUTE_NODE);
    if (c->head.kind != TS_EVENT_GRAPH_LAUNCH || one.size < sizeof n.head ||
        args > c->head.args_size || args > UINT32_MAX - 63)
        return false;
    memcpy(&n.head, one.bytes, sizeof n.head);
    n.after = (const void *)((const uint8_t *)one.bytes + sizeof n.head);
    n.after_count = (uint32_t)((one.size - sizeof n.head) / 4);
    n.args_at = (uint32_t)args;
    if (n.head.args_size)
        n.args_at = (n.args_at + TS_CAPTURE_NODE_ALIGNED - 1) &
                    ~(TS_CAPTURE_NODE_ALIGNED - 1);
    // The attributes of a node end where the next node begins.
    n.attributes.bytes = c->attributes.bytes + n.at;
    for (uint64_t end = n.at; ts_attribute_next(&c->attributes, &end, &other) &&
                              other.id != TS_ATTRIBUTE_NODE;)
        n.attributes.size = end - n.at;
    *node = n;
    return true;
}

static bool ts__capture_node_is_sound(const ts_capture *c,
                                      const ts_capture_node *node)
{
    const ts_capture_operation *const h = &node->head;
    if (h->kind && h->kind != TS_EVENT_KERNEL && h->kind != TS_EVENT_MEMCPY &&
        h->kind != TS_EVENT_MEMSET)
        return false;
    for (uint32_t i = 0; i < node->after_count; i++)
        if (node->after[i] >= node->index - 1) return false;
    return node->args_at <= c->head.args_size &&
           h->args_size <= c->head.args_size - node->args_at;
}

// Whether all attributes of a graph launch that are nodes are valid nodes.
static bool ts__capture_nodes_fit(const ts_capture *c)
{
    ts_capture_node node = { .index = 0 };
    ts_attribute one;
    uint32_t nodes = 0;
    for (uint64_t at = 0; ts_attribute_next(&c->attributes, &at, &one);)
        nodes += one.id == TS_ATTRIBUTE_NODE;
    while (ts_capture_node_next(c, &node))
        if (!ts__capture_node_is_sound(c, &node)) return false;
    return node.index == nodes;
}

static bool ts__capture_is_sound(const ts_capture *c)
{
    const ts_capture_operation *const h = &c->head;
    if (h->kind < TS_EVENT_GPU_FIRST || h->kind >= TS_EVENT_LIMIT ||
        h->state < TS_CAPTURE_WHOLE || h->state > TS_CAPTURE_DECLINED)
        return false;
    for (uint32_t i = 0; i < h->param_count; i++) {
        const ts_capture_param *const p = &c->params[i];
        if (p->offset > h->args_size || p->size > h->args_size - p->offset ||
            (p->type && p->size != 8))
            return false;
    }
    if (!ts__capture_attributes_fit(&c->attributes)) return false;
    if (h->kind == TS_EVENT_GRAPH_LAUNCH && !ts__capture_nodes_fit(c))
        return false;
    for (uint32_t i = 0; i < h->region_count; i++) {
        const ts_capture_region *const r = &c->regions[i];
        if (!r->address || r->size > UINT64_C(1) << 47 ||
            r->address > UINT64_MAX - r->size)
            return false;
    }
    return true;
}

// Finds the parts of a record. Returns false if they do not fit into it.
static bool ts__capture_parse(const uint8_t *bytes, size_t size, ts_capture *c)
{
    ts_capture_operation *const h = &c->head;
    if (size < sizeof *h) return false;
    memcpy(h, bytes, sizeof *h);
    uint64_t at = sizeof *h, left = size - at;
    const uint64_t params = (uint64_t)h->param_count * sizeof *c->params;
    const uint64_t args = ((uint64_t)h->args_size + 7) & ~UINT64_C(7);
    const uint64_t regions = (uint64_t)h->region_count * sizeof *c->regions;
    if (params > left || args > left - params || regions > left - params - args)
        return false;
    c->params = (const void *)(bytes + at);
    c->args = bytes + at + params;
    c->regions = (const void *)(bytes + at + params + args);
    c->attributes.bytes = bytes + at + params + args + regions;
    c->attributes.size = left - params - args - regions;
    return ts__capture_is_sound(c);
}

// The size of images before the field `form` was added.
enum { TS__IMAGE_LEAST = 40 };

static ts_result ts__capture_add(ts_reader *reader, const uint8_t *bytes,
                                 size_t size, ts__fault *fault)
{
    uint32_t type = 0;
    if (size >= sizeof type) memcpy(&type, bytes, sizeof type);
    if (type == TS_CAPTURE_IMAGE && size >= TS__IMAGE_LEAST) {
        ts_capture_image *const more = ts__mem_more(
            &reader->allocator, reader->images, &reader->image_capacity,
            reader->image_count, sizeof *more);
        if (!more) return TS_ERR_MEMORY;
        reader->images = more;
        memset(&more[reader->image_count], 0, sizeof *more);
        memcpy(&more[reader->image_count++], bytes,
               size < sizeof *more ? size : sizeof *more);
    } else if (type == TS_CAPTURE_OPERATION) {
        ts_capture *const more = ts__mem_more(
            &reader->allocator, reader->captures, &reader->capture_capacity,
            reader->capture_count, sizeof *more);
        if (!more) return TS_ERR_MEMORY;
        reader->captures = more;
        if (ts__capture_parse(bytes, size, &more[reader->capture_count]))
            reader->capture_count++;
        else
            *fault = ts__corrupt("the capture is inconsistent");
    } // skip types of later versions
    return TS_OK;
}

// Reads the record of a chunk. It is used in place unless it was decompressed
// or is not aligned.
static ts_result ts__capture_open(ts_reader *reader, size_t index)
{
    ts__in_chunk *const chunk = &reader->chunks[index];
    const uint8_t *payload = NULL;
    ts__scratch scratch = { NULL, 0 };
    const size_t size = chunk->header.raw_size;
    // The size that a small file may claim. A damaged chunk can claim any size
    // of itself, so it is bounded.
    const bool compressed = chunk->header.flags & TS_CHUNK_ZSTD;
    const bool fits = !compressed || size <= reader->desc.inflate_bytes -
                                                 reader->captures_inflated;
    ts__fault fault =
        fits ? ts__in_chunk_payload(reader, chunk, &scratch, &payload)
             : ts__too_large;
    if (fault.result == TS_OK) fault = ts__blob_check(&chunk->header, payload);
    ts_result result = TS_OK;
    if (fault.result == TS_OK && (scratch.bytes || (uintptr_t)payload % 8)) {
        uint8_t *const kept = ts__reader_keep(reader, size);
        if (kept) memcpy(kept, payload, size);
        if (!kept) fault = ts__no_memory;
        if (kept && compressed) reader->captures_inflated += size;
        payload = kept;
    }
    if (fault.result == TS_OK)
        result = ts__capture_add(reader, payload + 16, size - 16, &fault);
    ts__mem_put(&reader->allocator, scratch.bytes, scratch.size);
    if (result != TS_OK) return result;
    return ts__in_chunk_report(reader, chunk, fault);
}

static void ts__captures_list(ts_reader *reader)
{
    if (ts_reader_index(reader) != TS_OK) return;
    while (reader->captures_listed < reader->chunk_count) {
        const size_t index = reader->captures_listed;
        if (reader->chunks[index].header.kind == TS_CHUNK_CAPTURE &&
            ts__capture_open(reader, index) == TS_ERR_MEMORY)
            return;
        reader->captures_listed++;
    }
}

TS_API size_t ts_reader_capture_count(ts_reader *reader)
{
    ts__mutex_take(&reader->blob_lock);
    ts__captures_list(reader);
    const size_t count = reader->capture_count;
    ts__mutex_give(&reader->blob_lock);
    return count;
}

TS_API bool ts_reader_capture(ts_reader *reader, size_t index,
                              ts_capture *capture)
{
    ts__mutex_take(&reader->blob_lock);
    ts__captures_list(reader);
    const bool there = index < reader->capture_count;
    if (there) *capture = reader->captures[index];
    ts__mutex_give(&reader->blob_lock);
    return there;
}

TS_API bool ts_reader_image_at(ts_reader *reader, size_t index,
                               ts_capture_image *image)
{
    ts__mutex_take(&reader->blob_lock);
    ts__captures_list(reader);
    const bool there = index < reader->image_count;
    if (there) *image = reader->images[index];
    ts__mutex_give(&reader->blob_lock);
    return there;
}

static int ts__image_order(const void *left, const void *right)
{
    const ts__image_place *const a = left, *const b = right;
    if (a->id != b->id) return a->id < b->id ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

// Sorts the images by number again if images were added. Returns false if out
// of memory.
static bool ts__images_sort(ts_reader *reader)
{
    const size_t count = reader->image_count;
    if (reader->images_sorted == count) return true;
    ts__image_place *const made =
        ts__mem_get(&reader->allocator, count * sizeof *made);
    if (!made) return false;
    for (size_t i = 0; i < count; i++) {
        made[i].id = reader->images[i].id;
        made[i].index = (uint32_t)i;
    }
    ts__sort(made, count, sizeof *made, ts__image_order);
    ts__mem_put(&reader->allocator, reader->image_places,
                reader->images_sorted * sizeof *made);
    reader->image_places = made;
    reader->images_sorted = count;
    return true;
}

TS_API bool ts_reader_image(ts_reader *reader, uint32_t id,
                            ts_capture_image *image)
{
    ts__mutex_take(&reader->blob_lock);
    ts__captures_list(reader);
    size_t low = 0;
    size_t high = ts__images_sort(reader) ? reader->images_sorted : 0;
    while (low < high) // find the first one with this number
        ts__halve(&low, &high,
                  reader->image_places[ts__middle(low, high)].id < id);
    const bool there =
        low < reader->images_sorted && reader->image_places[low].id == id;
    if (there) *image = reader->images[reader->image_places[low].index];
    ts__mutex_give(&reader->blob_lock);
    return there;
}
