/*
    cupti_buffer.h - how records of the double of libcupti come into buffers:
                     the second part of libcupti.c
*/

/* ==== 2. Records ========================================================= */

static void give_back(void)
{
    if (!buffer.at || get("hold_buffers")) return;
    uint8_t *const at = buffer.at;
    const size_t used = buffer.used;
    if (one_more("bad_record") && used + 8 <= buffer.size) {
        memset(at + used, 0xEE, 8);
        buffer.used += 8;
    }
    const size_t valid = buffer.used;
    buffer.at = NULL;
    complete(NULL, 0, at, buffer.size, valid);
}

static size_t size_of(uint32_t kind)
{
    const uint64_t version = get("version") < 13 ? 13 : get("version");
    if (kind < KINDS && recorded_sizes[kind]) return recorded_sizes[kind];
    switch (kind) {
    case 1:
        return version >= 26   ? 96
               : version >= 17 ? 88
               : version >= 14 ? 80
                               : 72;
    case 2: return version >= 17 ? 88 : version >= 14 ? 80 : 72;
    case 3:
    case 10:
        if (get("version") < 13) return 144;
        return version >= 130400   ? 248 // and whatever comes next
               : version >= 130200 ? 232
               : version >= 130100 ? 224
               : version >= 130000 ? 216
               : version >= 19     ? 208
               : version >= 18     ? 200
               : version >= 17     ? 176
               : version >= 15     ? 168
                                   : 160;
    case 8: return version >= 19 ? 184 : version >= 18 ? 168 : 152;
    case 9: return 32;
    case 17: return version >= 20 ? 56 : 40;
    case 22: return version >= 17 ? 96 : version >= 14 ? 88 : 80;
    case 36: return version >= 26 ? 56 : 24;
    case 37: return 24;
    case 38: return version >= 26 ? 56 : 40;
    case 49: return version >= 20 ? 128 : version >= 17 ? 120 : 112;
    case 50: return version >= 20 ? 80 : 64;
    case 51: return version >= 20 ? 56 : 48;
    default: return 0;
    }
}

static void put(const uint8_t *bytes, size_t size)
{
    if (buffer.at && buffer.used + size > buffer.size) {
        if (get("hold_buffers")) buffer.at = NULL; // leaked on purpose
        give_back();
    }
    if (!buffer.at) {
        size_t most = 0;
        count(REQUESTS);
        request(&buffer.at, &buffer.size, &most);
        buffer.used = 0;
        if (!buffer.at) return;
    }
    memcpy(buffer.at + buffer.used, bytes, size);
    buffer.used += size;
    count(RECORDS);
}

// Goes into a buffer when it has ended; end_at 0: at once.
static void record(const void *bytes, size_t most, uint64_t end, size_t end_at)
{
    uint8_t whole[256] = { 0 };
    uint32_t kind;
    memcpy(&kind, bytes, 4);
    const size_t size = size_of(kind);
    if (kind >= KINDS || !is_on(&kinds_on[kind]) || !request || !size) return;
    memset(whole, 0xA5, size); // what the version appends
    memcpy(whole, bytes, most < size ? most : size);
    if (!end_at) {
        put(whole, size);
        return;
    }
    pending *const p = calloc(1, sizeof *p);
    if (!p) abort();
    memcpy(p->bytes, whole, size);
    p->size = size;
    p->end = end;
    p->end_at = end_at;
    if (get("reorder") && first_pending) {
        p->next = first_pending;
        first_pending = p;
        return;
    }
    *last_pending = p;
    last_pending = &p->next;
}

static void deliver(bool forced)
{
    const uint64_t time = now();
    pending **link = &first_pending;
    while (*link) {
        pending *const p = *link;
        if (p->end > time && !forced) {
            link = &p->next;
            continue;
        }
        if (p->end > time) memset(p->bytes + p->end_at, 0, 8);
        put(p->bytes, p->size);
        *link = p->next;
        free(p);
    }
    last_pending = link;
}
