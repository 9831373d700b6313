/* ---- Graph: members of a collective ------------------------------------- */

/*
    Matches collectives and point-to-point pairs over all files and devices. A
    rank is a device of a file. Members are matched in stages: by communicator
    and sequence number, if recorded; then by communicator, name and size, in
    the order in which each rank began them, as long as all ranks are found;
    then by communicator and name only, as ranks may send different amounts.
*/
typedef struct ts__rendezvous_item {
    uint64_t key;
    uint32_t row, rank;
    uint32_t occurrence; // number of earlier items of the rank with this key
    bool matched;
} ts__rendezvous_item;

typedef enum ts__rendezvous_stage {
    TS__RENDEZVOUS_SEQUENCE,
    TS__RENDEZVOUS_SIZE,
    TS__RENDEZVOUS_NAME
} ts__rendezvous_stage;

static ts__coll *ts__loader_coll(const ts__loader *l, uint32_t row)
{
    return (ts__coll *)l->colls.data + ts__loader_op(l, row)->label;
}

static const ts__replay_lane *ts__rendezvous_lane(const ts__loader *l,
                                                  uint32_t row)
{
    return ts__replay_lane_at(l->replay, ts__loader_row(l, row)->track);
}

static ts_text ts__rendezvous_text(const ts__loader *l, uint32_t row)
{
    const uint32_t file = ts__rendezvous_lane(l, row)->file;
    return ts_reader_name(ts__replay_file(l->replay, file)->reader,
                          ts__loader_coll(l, row)->name);
}

static uint64_t ts__rendezvous_name(const ts__loader *l, uint32_t row)
{
    const ts_text name = ts__rendezvous_text(l, row);
    return XXH3_64bits(name.text, name.size);
}

static uint64_t ts__rendezvous_number(ts_reader *reader, uint32_t process,
                                      const char *key)
{
    ts_metadata found;
    if ((!ts_reader_metadata(reader, process, key, &found) &&
         !ts_reader_metadata(reader, 0, key, &found)) ||
        found.type != TS_VALUE_INT || found.number < 0 ||
        found.number >= UINT32_MAX)
        return UINT64_MAX;
    return (uint64_t)found.number;
}

/*
    Reads the jobs, once per part, as each query searches all metadata. A
    collective without a number of ranks includes all processes of the job,
    unless the job has groups of processes.
*/
static bool ts__rendezvous_jobs(ts__loader *l)
{
    const size_t count = l->replay->parts.count;
    if (!ts__rvec_fill(l->allocator, &l->jobs, sizeof(ts__job), count, 0))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const ts__trace_part *const part = ts__replay_part(l->replay, i);
        ts_reader *const reader =
            ts__replay_file(l->replay, part->file)->reader;
        ts__job *const job = (ts__job *)l->jobs.data + i;
        ts_metadata groups;
        job->rank = ts__rendezvous_number(reader, part->process, "rank") + 1;
        const uint64_t ranks =
            ts__rendezvous_number(reader, part->process, "world_size");
        if (ranks > 1 && ranks < UINT32_MAX &&
            !ts_reader_metadata(reader, part->process, "process_groups",
                                &groups) &&
            !ts_reader_metadata(reader, 0, "process_groups", &groups))
            job->ranks = (uint32_t)ranks;
    }
    return true;
}

static const ts__job *ts__rendezvous_job(const ts__loader *l, uint32_t row)
{
    return (const ts__job *)l->jobs.data + ts__rendezvous_lane(l, row)->part;
}

/*
    Gets sender and receiver of a point-to-point operation: the key of a pair
    contains the direction, which the name shows. Kernels that send and receive
    at the same time have none.
*/
static bool ts__rendezvous_pair(const ts__loader *l, uint32_t row,
                                uint64_t parts[2])
{
    const uint64_t peer = ts__loader_coll(l, row)->peer;
    const uint64_t own = peer ? ts__rendezvous_job(l, row)->rank : 0;
    if (!own) return false;
    const ts_text name = ts__rendezvous_text(l, row);
    const bool sends = ts__text_has(name, "Send") || ts__text_has(name, "send");
    const bool receives =
        ts__text_has(name, "Recv") || ts__text_has(name, "recv");
    const bool swap = sends == receives ? own > peer : receives;
    parts[0] = swap ? peer : own;
    parts[1] = swap ? own : peer;
    return true;
}

static uint64_t ts__rendezvous_key(const ts__loader *l, uint32_t row,
                                   ts__rendezvous_stage stage)
{
    const ts__coll *const coll = ts__loader_coll(l, row);
    uint64_t parts[6] = { (uint64_t)stage, coll->communicator, 0, 0, 0, 0 };
    if (stage == TS__RENDEZVOUS_SEQUENCE) parts[2] = coll->sequence;
    if (stage == TS__RENDEZVOUS_SIZE) parts[2] = coll->size;
    const bool pair = ts__rendezvous_pair(l, row, parts + 4);
    if (stage != TS__RENDEZVOUS_SEQUENCE && !pair)
        parts[3] = ts__rendezvous_name(l, row);
    return XXH3_64bits(parts, sizeof parts);
}

// Order of items: by key, then by occurrence, then by rank.
static int ts__rendezvous_compare(const void *left, const void *right)
{
    const ts__rendezvous_item *const a = (const ts__rendezvous_item *)left;
    const ts__rendezvous_item *const b = (const ts__rendezvous_item *)right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    if (a->occurrence != b->occurrence)
        return a->occurrence < b->occurrence ? -1 : 1;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

// Lists the collectives that are not matched yet, in order of rank and start.
static bool ts__rendezvous_gather(ts__loader *l, ts__rvec *items)
{
    for (size_t i = 0; i < l->rows.count; i++) {
        if (ts__loader_op(l, i)->kind != TS_EVENT_COLLECTIVE) continue;
        ts__rendezvous_item *const item = (ts__rendezvous_item *)ts__rvec_push(
            l->allocator, items, sizeof *item);
        if (!item) return false;
        memset(item, 0, sizeof *item);
        item->row = (uint32_t)i;
        item->rank = ts__rendezvous_lane(l, item->row)->device;
    }
    if (!ts__rsort_open(l->allocator, &l->sort, items->count)) return false;
    ts__rendezvous_item *const list = (ts__rendezvous_item *)items->data;
    for (uint32_t i = 0; i < items->count; i++)
        ts__rsort_index(&l->sort)[i] = i;
    for (int key = 0; key < 3; key++) {
        for (size_t i = 0; i < items->count; i++) {
            const ts__rendezvous_item *const item =
                &list[ts__rsort_index(&l->sort)[i]];
            const ts__row *const row = ts__loader_row(l, item->row);
            ts__rsort_keys(&l->sort)[i] =
                key == 0   ? ts__rsort_time(row->start + row->duration)
                : key == 1 ? ts__rsort_time(row->start)
                           : item->rank;
        }
        ts__rsort_run(&l->sort, items->count);
    }
    ts__rvec sorted = { 0 };
    if (!ts__rvec_reserve(l->allocator, &sorted, sizeof *list, items->count))
        return false;
    for (size_t i = 0; i < items->count; i++)
        ((ts__rendezvous_item *)sorted.data)[i] =
            list[ts__rsort_index(&l->sort)[i]];
    sorted.count = items->count;
    ts__rvec_close(l->allocator, items);
    *items = sorted;
    return true;
}

// Counts the ranks in the traces, for each communicator.
static bool ts__rendezvous_ranks(const ts__loader *l, const ts__rvec *items,
                                 ts__rmap *ranks)
{
    const ts__rendezvous_item *const list =
        (const ts__rendezvous_item *)items->data;
    ts__rmap last = { { 0 }, 0 }; // items are in order of rank
    bool ok = true;
    for (size_t i = 0; ok && i < items->count; i++) {
        const uint64_t key = ts__loader_coll(l, list[i].row)->communicator;
        if (ts__rmap_get(&last, key) == list[i].rank) continue;
        const uint32_t count = ts__rmap_get(ranks, key);
        ok = ts__rmap_put(l->allocator, &last, key, list[i].rank) &&
             ts__rmap_put(l->allocator, ranks, key,
                          count == TS_NODE_NONE ? 1 : count + 1);
    }
    ts__rvec_close(l->allocator, &last.entries);
    return ok;
}

// Adds items first to end - 1 as one rendezvous.
static bool ts__rendezvous_note(ts__loader *l, ts__rendezvous_item *list,
                                size_t first, size_t end)
{
    ts__rendezvous *const rendezvous = (ts__rendezvous *)ts__rvec_push(
        l->allocator, &l->replay->rendezvous, sizeof *rendezvous);
    if (!rendezvous) return false;
    memset(rendezvous, 0, sizeof *rendezvous);
    rendezvous->count = (uint32_t)(end - first);
    rendezvous->join = rendezvous->cost = TS_NODE_NONE;
    rendezvous->kind = TS_EDGE_COLLECTIVE;
    for (size_t i = first; i < end; i++) {
        const uint32_t row = list[i].row;
        uint64_t parts[2];
        ts__coll *const coll = ts__loader_coll(l, row);
        const uint64_t ranks =
            coll->ranks ? coll->ranks : ts__rendezvous_job(l, row)->ranks;
        if (ranks > rendezvous->expected && ranks < UINT32_MAX)
            rendezvous->expected = (uint32_t)ranks;
        if (ts__rendezvous_pair(l, row, parts)) rendezvous->kind = TS_EDGE_P2P;
        if (!coll->communicator) rendezvous->guessed = rendezvous->count > 1;
        coll->rendezvous = (uint32_t)l->replay->rendezvous.count;
        list[i].matched = true;
    }
    if (rendezvous->kind == TS_EDGE_P2P) {
        rendezvous->expected = 2;
        rendezvous->guessed = false;
    } else if (!rendezvous->expected && rendezvous->count == 1) {
        rendezvous->expected = 2; // or more
    }
    return true;
}

// Returns whether the items of a key and occurrence are complete.
static bool ts__rendezvous_complete(const ts__loader *l,
                                    const ts__rendezvous_item *list,
                                    size_t first, size_t end,
                                    const ts__rmap *ranks)
{
    const uint32_t row = list[first].row;
    const ts__coll *const coll = ts__loader_coll(l, row);
    uint64_t parts[2];
    if (ts__rendezvous_pair(l, row, parts)) return end - first == 2;
    return end - first >= ts__rmap_get(ranks, coll->communicator);
}

// Runs one stage: matches items of the same key and occurrence. Items without a
// sequence number are left to later stages, incomplete matches to the last one.
static bool ts__rendezvous_stage_run(ts__loader *l, ts__rvec *items,
                                     const ts__rmap *ranks,
                                     ts__rendezvous_stage stage)
{
    ts__rendezvous_item *const list = (ts__rendezvous_item *)items->data;
    ts__rvec open = { 0 };
    ts__rmap occurrences = { { 0 }, 0 };
    bool ok = true;
    for (size_t i = 0; ok && i < items->count; i++) {
        const uint32_t row = list[i].row;
        const ts__coll *const coll = ts__loader_coll(l, row);
        if (list[i].matched || (stage == TS__RENDEZVOUS_SEQUENCE &&
                                (!coll->communicator || !coll->sequence)))
            continue;
        ts__rendezvous_item item = list[i];
        item.key = ts__rendezvous_key(l, row, stage);
        const uint64_t of_rank =
            item.key ^ (uint64_t)item.rank * UINT64_C(0x9E3779B97F4A7C15);
        const uint32_t occurrence = ts__rmap_get(&occurrences, of_rank);
        item.occurrence = occurrence == TS_NODE_NONE ? 0 : occurrence;
        ts__rendezvous_item *const to = (ts__rendezvous_item *)ts__rvec_push(
            l->allocator, &open, sizeof *to);
        ok = to && ts__rmap_put(l->allocator, &occurrences, of_rank,
                                item.occurrence + 1);
        if (to) *to = item;
        if (to) to->matched = false;
    }
    ts__rendezvous_item *const sorted = (ts__rendezvous_item *)open.data;
    if (ok && open.count)
        qsort(sorted, open.count, sizeof *sorted, ts__rendezvous_compare);
    for (size_t first = 0, end; ok && first < open.count; first = end) {
        for (end = first + 1; end < open.count; end++)
            if (sorted[end].key != sorted[first].key ||
                sorted[end].occurrence != sorted[first].occurrence)
                break;
        if (stage != TS__RENDEZVOUS_SIZE ||
            ts__rendezvous_complete(l, sorted, first, end, ranks))
            ok = ts__rendezvous_note(l, sorted, first, end);
    }
    for (size_t i = 0; ok && i < items->count; i++)
        list[i].matched = ts__loader_coll(l, list[i].row)->rendezvous != 0;
    ts__rvec_close(l->allocator, &open);
    ts__rvec_close(l->allocator, &occurrences.entries);
    return ok;
}
