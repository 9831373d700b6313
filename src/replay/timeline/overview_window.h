/* ---- Timeline: one window ----------------------------------------------- */

// The longest gaps are kept in a heap whose root is the shortest of them.
static bool ts__overview_gap_before(const ts__overview_gap *a,
                                    const ts__overview_gap *b)
{
    const int64_t of_a = a->gap.end_ns - a->gap.start_ns;
    const int64_t of_b = b->gap.end_ns - b->gap.start_ns;
    if (of_a != of_b) return of_a > of_b;
    if (a->gap.start_ns != b->gap.start_ns)
        return a->gap.start_ns < b->gap.start_ns;
    return a->device < b->device;
}

static int ts__overview_compare_gap(const void *left, const void *right)
{
    const ts__overview_gap *const a = (const ts__overview_gap *)left;
    const ts__overview_gap *const b = (const ts__overview_gap *)right;
    return ts__overview_gap_before(b, a) - ts__overview_gap_before(a, b);
}

static void ts__overview_gap_sink(ts__overview_gap *heap, size_t count,
                                  ts__overview_gap item)
{
    size_t at = 0;
    for (size_t next; (next = at * 2 + 1) < count; at = next) {
        if (next + 1 < count &&
            ts__overview_gap_before(&heap[next], &heap[next + 1]))
            next++;
        if (!ts__overview_gap_before(&item, &heap[next])) break;
        heap[at] = heap[next];
    }
    heap[at] = item;
}

static bool ts__overview_gap_keep(const ts_overview *s, ts__rvec *heap,
                                  ts__overview_gap item)
{
    ts__overview_gap *list = (ts__overview_gap *)heap->data;
    if (heap->count == s->desc.gap_count) {
        if (ts__overview_gap_before(&item, &list[0]))
            ts__overview_gap_sink(list, heap->count, item);
        return true;
    }
    if (!ts__rvec_push(&s->allocator, heap, sizeof item)) return false;
    list = (ts__overview_gap *)heap->data;
    size_t at = heap->count - 1;
    for (; at && ts__overview_gap_before(&list[(at - 1) / 2], &item);
         at = (at - 1) / 2)
        list[at] = list[(at - 1) / 2];
    list[at] = item;
    return true;
}

typedef struct ts__overview_view { // a window that is being analyzed
    ts_overview *overview;
    size_t window;
    ts_replay *replay;
    ts_timeline *timeline;
    // Operations of the trace before operation 0 of this window's replay.
    uint64_t before;
    uint32_t known; // first operation from which on none is missing
} ts__overview_view;

// Returns the number of a node in the whole trace; TS_NODE_NONE if it is not an
// operation.
static uint32_t ts__overview_number(const ts__overview_view *v, uint32_t node)
{
    if (node == TS_NODE_NONE || node >= v->replay->op_count ||
        node < v->known || v->before + node >= TS_NODE_NONE)
        return TS_NODE_NONE;
    return (uint32_t)(v->before + node);
}

// From load_from on, all operations are loaded, so their numbers in the trace
// follow from how many began before the window.
static void ts__overview_numbers(ts__overview_view *v)
{
    const ts_replay *const r = v->replay;
    const ts_overview_window *const all =
        (const ts_overview_window *)v->overview->windows.data;
    uint64_t begun = 0;
    uint32_t earlier = 0;
    for (size_t i = 0; i < v->window; i++)
        begun += all[i].operations;
    for (v->known = 0;
         v->known < r->op_count && ts__replay_time(r)[v->known] < r->load_from;)
        v->known++;
    for (earlier = v->known;
         earlier < r->op_count &&
         ts__replay_time(r)[earlier] < all[v->window].from_ns;)
        earlier++;
    // Modulo 2^64: ts__overview_number adds the node number.
    v->before = begun - earlier;
}

static bool ts__overview_latencies(const ts__overview_view *v,
                                   const ts__tl_device *d,
                                   ts__overview_part *part)
{
    const ts_timeline *const t = v->timeline;
    if (!ts__rvec_reserve(&v->overview->allocator, &part->latencies,
                          sizeof(uint32_t), (size_t)d->figures.launches))
        return false;
    uint32_t *const to = (uint32_t *)part->latencies.data;
    for (uint32_t i = d->first; i < d[1].first; i++) {
        const uint32_t op = ts__tl_u32(&t->by_device)[i];
        const int64_t begin = ts__tl_begin(t, op), issue = ts__tl_issue(t, op);
        if (!ts__kind_works(ts__replay_op(t->replay, op)->kind) ||
            !ts__tl_inside(t, begin) || !ts__tl_by_launch(t, op, issue))
            continue;
        to[part->latencies.count++] =
            begin - issue > UINT32_MAX ? UINT32_MAX : (uint32_t)(begin - issue);
    }
    return true;
}

static bool ts__overview_device_take(const ts__overview_view *v, size_t index)
{
    ts_overview *const s = v->overview;
    const ts_timeline *const t = v->timeline;
    const ts__tl_device *const d = ts__tl_device_at(t, index);
    const uint32_t device = ts__overview_device_of(s, d->figures.track);
    ts__overview_part *const part = ts__overview_part_at(s, v->window, device);
    part->figures = d->figures;
    part->own_ns = d->own_ns;
    ts__rvec *const kept = (ts__rvec *)s->window_gaps.data + v->window;
    for (size_t i = 0; i < d->gap_count; i++) {
        ts__overview_gap item = {
            ((const ts_gap *)t->gaps.data)[d->gap_first + i], device
        };
        item.gap.operation = ts__overview_number(v, item.gap.operation);
        item.gap.culprit = ts__overview_number(v, item.gap.culprit);
        if (!ts__overview_gap_keep(s, kept, item)) return false;
    }
    return ts__overview_latencies(v, d, part);
}

// Opens a replay of the window with a margin of one part on both sides.
static ts_result ts__overview_load(ts__overview_view *v)
{
    ts_overview *const s = v->overview;
    const int64_t first = (int64_t)v->window * s->steps;
    ts_replay_desc desc = { 0 };
    desc.threads = 1;
    desc.allocator = s->allocator;
    desc.queue_depth = s->desc.queue_depth;
    desc.connections = s->desc.connections;
    desc.no_inference = s->desc.no_inference;
    desc.load_from_ns = ts__overview_border(s, first - 1);
    desc.load_to_ns = ts__overview_border(s, first + s->steps + 1);
    desc.load_before_ns =
        desc.load_from_ns - ts__overview_border(s, first - 1 - s->steps);
    return ts_replay_open(&v->replay, s->reader, &desc);
}

static ts_result ts__overview_look(ts__overview_view *v)
{
    ts_overview *const s = v->overview;
    const int64_t first = (int64_t)v->window * s->steps;
    ts_result result = ts__overview_load(v);
    if (result != TS_OK) return result;
    const ts_replay *const r = v->replay;
    ts__rvec reach = { 0 };
    const size_t devices = r->device_results.count;
    if (!ts__rvec_reserve(&s->allocator, &reach, sizeof(int64_t), devices))
        return TS_ERR_MEMORY;
    for (size_t i = 0; i < devices; i++) {
        const uint32_t device = ts__overview_device_of(
            s, ((const ts_lane *)r->device_results.data)[i].track);
        ((int64_t *)reach.data)[i] =
            ts__tl_i64(&s->reach)[v->window * s->device_count + device];
    }
    ts_timeline_desc desc = { 0 };
    desc.from_ns = ts__overview_border(s, first);
    desc.to_ns = ts__overview_border(s, first + s->steps);
    desc.allocator = s->allocator;
    result =
        ts__timeline_open(&v->timeline, v->replay, &desc, ts__tl_i64(&reach));
    if (result == TS_OK) ts__overview_numbers(v);
    for (size_t i = 0; result == TS_OK && i < devices; i++)
        if (!ts__overview_device_take(v, i)) result = TS_ERR_MEMORY;
    ts__rvec_close(&s->allocator, &reach);
    return result;
}

static void ts__overview_window_run(void *user, size_t window, uint32_t thread)
{
    (void)thread;
    ts_overview *const s = (ts_overview *)user;
    ts_overview_window *const w =
        (ts_overview_window *)s->windows.data + window;
    ts__overview_view v = { s, window, NULL, NULL, 0, 0 };
    ts_result result = ts__overview_look(&v);
    if (v.replay) w->plan = v.replay->stats;
    ts_timeline_close(v.timeline);
    ts_replay_close(v.replay);
    // A window may be empty.
    if (result == TS_ERR_NOT_FOUND) result = TS_OK;
    ((ts_result *)s->failures.data)[window] = result;
}

/* ---- Merging all windows ---- */

// Returns the value at index `place` of the sorted latencies of a device.
static int64_t ts__overview_select(const ts_overview *s, size_t device,
                                   uint64_t place)
{
    uint32_t prefix = 0, mask = 0;
    for (int shift = 22; shift >= 0; shift -= 11) {
        uint64_t counts[2048] = { 0 };
        for (size_t w = 0; w < s->window_count; w++) {
            const ts__rvec *const list =
                &ts__overview_part_at(s, w, device)->latencies;
            for (size_t i = 0; i < list->count; i++) {
                const uint32_t value = ts__tl_u32(list)[i];
                if ((value & mask) == prefix) counts[value >> shift & 2047]++;
            }
        }
        uint32_t digit = 0;
        while (place >= counts[digit])
            place -= counts[digit++];
        prefix |= digit << shift;
        mask |= UINT32_C(2047) << shift;
    }
    return prefix;
}

static void ts__overview_add(ts_timeline_figures *to, ts__overview_part *part)
{
    ts_timeline_figures *const f = &part->figures;
    bool any = true; // the span is not computed from the parts
    f->start_ns = f->end_ns = 0;
    ts__tl_sum(to, f, &any);
}

// Sets a device's span: from the begin of its first work to the end of its
// last.
static void ts__overview_span(const ts_overview *s, size_t device,
                              ts_timeline_figures *to)
{
    for (size_t w = 0; w < s->window_count; w++) {
        const int64_t own_ns = ts__overview_part_at(s, w, device)->own_ns;
        if (own_ns == TS__NO_TIME) continue;
        to->start_ns = own_ns;
        to->end_ns =
            ts__tl_i64(&s->reach)[s->window_count * s->device_count + device];
        return;
    }
}

static bool ts__overview_merge_device(ts_overview *s, size_t device)
{
    ts_timeline_figures f = { 0 };
    for (size_t w = 0; w < s->window_count; w++)
        ts__overview_add(&f, ts__overview_part_at(s, w, device));
    ts__overview_span(s, device, &f);
    f.track = ts__tl_u32(&s->devices)[device];
    if (f.launches) {
        f.launch_p50_ns =
            ts__overview_select(s, device, (f.launches * 50 + 99) / 100 - 1);
        f.launch_p95_ns =
            ts__overview_select(s, device, (f.launches * 95 + 99) / 100 - 1);
    }
    ((ts_timeline_figures *)s->figures.data)[device] = f;
    return ts__tl_adds_up(&f);
}

static bool ts__overview_merge_gaps(ts_overview *s)
{
    bool ok = true;
    for (size_t w = 0; ok && w < s->window_count; w++) {
        const ts__rvec *const list = (ts__rvec *)s->window_gaps.data + w;
        for (size_t i = 0; ok && i < list->count; i++)
            ok = ts__overview_gap_keep(
                s, &s->gaps, ((const ts__overview_gap *)list->data)[i]);
    }
    if (s->gaps.count)
        qsort(s->gaps.data, s->gaps.count, sizeof(ts__overview_gap),
              ts__overview_compare_gap);
    return ok;
}

// Whether any window has operations of the device; others are left out.
static bool ts__overview_has(const ts_overview *s, size_t device)
{
    for (size_t w = 0; w < s->window_count; w++)
        if (ts__overview_part_at(s, w, device)->figures.queue_max ||
            ts__overview_part_at(s, w, device)->figures.operations)
            return true;
    return ts__tl_i64(&s->reach)[s->window_count * s->device_count + device] !=
           TS__NO_TIME;
}

static ts_result ts__overview_merge(ts_overview *s)
{
    ts_timeline_figures *const all = (ts_timeline_figures *)s->figures.data;
    ts__rvec numbers = { 0 };
    if (!ts__overview_merge_gaps(s) ||
        !ts__rvec_fill(&s->allocator, &numbers, sizeof(uint32_t),
                       s->device_count, 0))
        return TS_ERR_MEMORY;
    bool any = false, ok = true;
    size_t kept = 0;
    for (size_t i = 0; ok && i < s->device_count; i++) {
        ok = ts__overview_merge_device(s, i);
        if (!ts__overview_has(s, i)) continue;
        ts__tl_sum(&s->total, &all[i], &any);
        ((uint32_t *)numbers.data)[i] = (uint32_t)kept;
        all[kept++] = all[i];
    }
    s->figures.count = kept;
    for (size_t i = 0; i < s->gaps.count; i++) {
        ts__overview_gap *const gap = (ts__overview_gap *)s->gaps.data + i;
        gap->device = ts__tl_u32(&numbers)[gap->device];
    }
    ts__rvec_close(&s->allocator, &numbers);
    return !ok ? TS_ERR_CORRUPT : kept ? TS_OK : TS_ERR_NOT_FOUND;
}

static ts_result ts__overview_all(ts_overview *s)
{
    const ts_allocator *const a = &s->allocator;
    ts_result result = ts__overview_tracks(s) ? TS_OK : TS_ERR_MEMORY;
    if (result == TS_OK) result = ts__overview_cut(s);
    if (result == TS_OK) result = ts__overview_reach(s);
    if (result != TS_OK) return result;
    const size_t windows = s->window_count;
    if (!ts__overview_before(s) ||
        !ts__rvec_fill(a, &s->windows, sizeof(ts_overview_window), windows,
                       0) ||
        !ts__rvec_fill(a, &s->failures, sizeof(ts_result), windows, 0) ||
        !ts__rvec_fill(a, &s->window_gaps, sizeof(ts__rvec), windows, 0) ||
        !ts__rvec_fill(a, &s->parts, sizeof(ts__overview_part),
                       windows * s->device_count, 0) ||
        !ts__rvec_fill(a, &s->figures, sizeof(ts_timeline_figures),
                       s->device_count, 0))
        return TS_ERR_MEMORY;
    for (size_t i = 0; i < windows * s->device_count; i++)
        ((ts__overview_part *)s->parts.data)[i].own_ns = TS__NO_TIME;
    for (size_t i = 0; i < windows; i++) {
        ts_overview_window *const w = (ts_overview_window *)s->windows.data + i;
        w->from_ns = ts__overview_border(s, (int64_t)(i * s->steps));
        w->to_ns = ts__overview_border(s, (int64_t)((i + 1) * s->steps));
        w->operations = ((const uint64_t *)s->counts.data)[i];
    }
    ts__crew_run(s->threads, windows, ts__overview_window_run, s);
    for (size_t i = 0; i < windows; i++) {
        result = ((const ts_result *)s->failures.data)[i];
        if (result != TS_OK) return result;
    }
    return ts__overview_merge(s);
}

TS_API ts_result ts_overview_open(ts_overview **overview, ts_reader *reader,
                                  const ts_overview_desc *desc)
{
    static const ts_overview_desc none = { 0 };
    if (!overview) return TS_ERR_USAGE;
    *overview = NULL;
    if (!reader) return TS_ERR_USAGE;
    if (!desc) desc = &none;
    const ts_allocator allocator = ts__arena_open(&desc->allocator);
    ts_overview *const s = (ts_overview *)allocator.resize(
        allocator.user, NULL, 0, sizeof(ts_overview));
    if (!s) {
        ts__arena_close(&allocator);
        return TS_ERR_MEMORY;
    }
    memset(s, 0, sizeof *s);
    s->reader = reader;
    s->allocator = allocator;
    s->desc = *desc;
    ts_overview_desc *const d = &s->desc;
    if (!d->window_operations) d->window_operations = 50000;
    if (!d->margin_operations)
        d->margin_operations = (d->window_operations + 9) / 10;
    if (!d->gap_count) d->gap_count = 100;
    s->steps = (d->window_operations - 1) / d->margin_operations + 1;
    s->threads = d->threads ? d->threads : reader->threads;
    if (s->threads > TS__THREADS_MAX) s->threads = TS__THREADS_MAX;
    const ts_result result = ts__overview_all(s);
    if (result == TS_OK)
        *overview = s;
    else
        ts_overview_close(s);
    return result;
}

TS_API void ts_overview_close(ts_overview *overview)
{
    if (!overview) return;
    const ts_allocator a = overview->allocator;
    for (size_t i = 0; i < overview->parts.count; i++)
        ts__rvec_close(
            &a, &((ts__overview_part *)overview->parts.data)[i].latencies);
    for (size_t i = 0; i < overview->window_gaps.count; i++)
        ts__rvec_close(&a, (ts__rvec *)overview->window_gaps.data + i);
    ts__rvec *const vecs[] = {
        &overview->devices,  &overview->device_of.entries,
        &overview->borders,  &overview->windows,
        &overview->failures, &overview->reach,
        &overview->counts,   &overview->parts,
        &overview->gaps,     &overview->window_gaps,
        &overview->figures
    };
    for (size_t i = 0; i < sizeof vecs / sizeof vecs[0]; i++)
        ts__rvec_close(&a, vecs[i]);
    a.resize(a.user, overview, sizeof *overview, 0);
    ts__arena_close(&a);
}

TS_API const ts_timeline_figures *ts_overview_total(const ts_overview *overview)
{
    return &overview->total;
}

TS_API const ts_timeline_figures *
ts_overview_device(const ts_overview *overview, size_t device)
{
    if (device >= overview->figures.count) return NULL;
    return (const ts_timeline_figures *)overview->figures.data + device;
}

TS_API bool ts_overview_gap(const ts_overview *overview, size_t index,
                            size_t *device, ts_gap *gap)
{
    if (index >= overview->gaps.count) return false;
    const ts__overview_gap *const one =
        (const ts__overview_gap *)overview->gaps.data + index;
    *device = one->device;
    *gap = one->gap;
    return true;
}

TS_API bool ts_overview_window_at(const ts_overview *overview, size_t index,
                                  ts_overview_window *window)
{
    if (index >= overview->window_count) return false;
    *window = ((const ts_overview_window *)overview->windows.data)[index];
    return true;
}
