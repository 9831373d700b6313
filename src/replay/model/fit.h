/* ---- Model: fitting delays ---------------------------------------------- */

// Returns how far apart delays of one class may be. A wider spread is not a
// constant delay but an unrecorded influence.
static int64_t ts__edge_max_spread(uint32_t kind)
{
    switch (kind) {
    case TS_EDGE_STREAM_ORDER:
    case TS_EDGE_EVENT:
    case TS_EDGE_GRAPH:
    case TS_EDGE_LEGACY_DEFAULT: return 5000;
    default: return 20000;
    }
}

// Returns the first index of the shortest interval that holds `need` of the
// samples.
static size_t ts__class_shortest(const uint64_t *keys, size_t count,
                                 size_t need)
{
    size_t best = 0;
    for (size_t i = 1; i + need <= count; i++)
        if (keys[i + need - 1] - keys[i] < keys[best + need - 1] - keys[best])
            best = i;
    return best;
}

// Returns the first index of the interval of `wide` ns that holds the most
// samples; *need receives how many.
static size_t ts__class_densest(const uint64_t *keys, size_t count,
                                int64_t wide, size_t *need)
{
    size_t best = 0;
    *need = 0;
    for (size_t first = 0, end = 0; first < count; first++) {
        while (end < count && keys[end] - keys[first] <= (uint64_t)wide)
            end++;
        if (end - first <= *need) continue;
        *need = end - first;
        best = first;
    }
    return best;
}

/*
    Finds the range in which samples of a class are not outliers. It is based on
    the shortest interval with half of them or, if that is wider than delays of
    one cause can be, on the densest interval of the maximum width.
*/
static void ts__class_range(ts__class *k, const uint64_t *keys, size_t count)
{
    const int64_t zero = INT64_C(1) << 39;
    const uint64_t mask = (UINT64_C(1) << 40) - 1;
    size_t need = count / 2 + 1;
    size_t first = ts__class_shortest(keys, count, need);
    int64_t low = (int64_t)(keys[first] & mask) - zero;
    int64_t wide = ts__edge_max_spread(k->pub.kind);
    if (low > wide) wide = low;
    if ((int64_t)(keys[first + need - 1] - keys[first]) > wide)
        first = ts__class_densest(keys, count, wide, &need);
    low = (int64_t)(keys[first] & mask) - zero;
    const int64_t high = (int64_t)(keys[first + need - 1] & mask) - zero;
    k->spread = high - low;
    int64_t more = 3 * k->spread;
    if (more > wide) more = wide;
    k->pub.low_ns = low - more - TS__CLASS_NOISE_NS;
    k->pub.high_ns = high + more + TS__CLASS_NOISE_NS;
}

static void ts__calibrate_ranges(ts__calibration *c, size_t count)
{
    const uint64_t *const keys = ts__rsort_keys(&c->sort);
    for (size_t first = 0, end; first < count; first = end) {
        const uint64_t class_of = keys[first] >> 40;
        for (end = first; end < count && keys[end] >> 40 == class_of;)
            end++;
        ts__class_range(ts__model_class(c->model, (size_t)class_of),
                        keys + first, end - first);
    }
}

// Returns a typical delay of current devices, for kinds of edges without
// samples in the trace.
static int64_t ts__edge_assumed(uint32_t kind)
{
    switch (kind) {
    case TS_EDGE_LAUNCH: return 5000;
    case TS_EDGE_SYNC: return 5000;
    case TS_EDGE_SELF:
    case TS_EDGE_COLLECTIVE:
    case TS_EDGE_P2P: return 0;
    default: return 1000;
    }
}

static int64_t ts__mean(int64_t sum, int64_t count)
{
    const int64_t twice = 2 * sum + count; // rounds half up
    const int64_t q = twice / (2 * count);
    return twice % (2 * count) < 0 ? q - 1 : q;
}

// Sets the delay of each class. A coarser class precedes its finer classes.
static void ts__calibrate_delays(ts__calibration *c, ts__sampled which)
{
    ts__model *const m = c->model;
    for (uint32_t i = 0; i < m->classes.count; i++) {
        ts__class *const k = ts__model_class(m, i);
        const bool top = k->parent == TS_NODE_NONE;
        if (!ts__sample_is(which, k->pub.kind)) continue;
        k->pub.coarser = k->pub.assumed = false;
        k->of = i;
        if (k->kept && (top || k->kept >= TS__CLASS_SAMPLES)) {
            k->pub.delay_ns = ts__mean(k->sum, (int64_t)k->kept);
        } else if (top) {
            const int64_t assumed = ts__edge_assumed(k->pub.kind);
            k->pub.assumed = true;
            k->pub.delay_ns = k->least < assumed ? k->least : assumed;
            k->pub.low_ns = k->pub.delay_ns - TS__CLASS_NOISE_NS;
            k->pub.high_ns = k->pub.delay_ns + TS__CLASS_NOISE_NS;
        } else {
            const ts__class *const up = ts__model_class(m, k->parent);
            k->of = up->of;
            k->pub.coarser = true;
            k->pub.assumed = up->pub.assumed;
            k->pub.delay_ns = up->pub.delay_ns;
            k->pub.low_ns = up->pub.low_ns;
            k->pub.high_ns = up->pub.high_ns;
        }
    }
}

// Runs one round: collects the samples of the holding edges, finds their
// ranges, and averages.
static void ts__calibrate_fit(ts__calibration *c, ts__sampled which)
{
    ts__model *const m = c->model;
    for (uint32_t i = 0; i < m->classes.count; i++) {
        ts__class *const k = ts__model_class(m, i);
        if (!ts__sample_is(which, k->pub.kind)) continue;
        k->sum = 0;
        k->kept = k->seen = k->pub.samples = 0;
        k->pub.low_ns = k->pub.high_ns = k->spread = 0;
    }
    ts__calibrate_holds(c);
    ts__calibrate_each(c, which, ts__sample_count);
    c->sort.keys[0].count = 0;
    ts__calibrate_each(c, which, ts__sample_pick);
    const size_t count = c->sort.keys[0].count;
    if (c->failed || !ts__rsort_open(&c->replay->allocator, &c->sort, count)) {
        c->failed = true;
        return;
    }
    ts__rsort_run(&c->sort, count);
    ts__calibrate_ranges(c, count);
    ts__calibrate_each(c, which, ts__sample_sum);
    ts__calibrate_delays(c, which);
}

// Sets the guards to the delays found. With a factor other than 1, only
// launches get one: their delay times the factor.
static void ts__calibrate_guards(ts__calibration *c, uint32_t factor)
{
    for (uint32_t i = 0; i < c->model->classes.count; i++) {
        ts__class *const k = ts__model_class(c->model, i);
        if (factor == 1 || k->pub.kind == TS_EDGE_LAUNCH)
            k->guard = k->pub.delay_ns * (int64_t)factor;
    }
}

// Lets launch delays count from the end of their call or, if `decide` finds a
// smaller spread that way, from its start.
static void ts__calibrate_launches(ts__calibration *c, bool decide)
{
    const ts_replay *const r = c->replay;
    for (uint32_t i = r->op_count; i < r->op_count + r->call_count; i++) {
        if (ts__replay_flags(r)[i] & TS__NODE_WAITS) continue;
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++) {
            const uint32_t k = ts__model_edge_class(c->model, e);
            if (k == TS_NODE_NONE ||
                TS_EDGE_KIND(ts__replay_kind(r, e)) != TS_EDGE_LAUNCH)
                continue;
            const ts__class *const class_of =
                ts__model_class(c->model, ts__model_class(c->model, k)->of);
            const bool from_end =
                !decide || class_of->spread < class_of->spread_from_start;
            ts__model_edge_set(c->model, e, k,
                               from_end ? TS__FIXED_CALL : TS__FIXED_NONE);
        }
    }
}

// Counts the edges of each class and finds their shortest delay.
static void ts__calibrate_least(ts__calibration *c)
{
    const ts_replay *const r = c->replay;
    for (uint32_t i = 0; i < r->node_count; i++) {
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++) {
            const int64_t sample = ts__calibrate_sample(c, i, e);
            uint32_t k = ts__model_edge_class(c->model, e);
            for (; k != TS_NODE_NONE;
                 k = ts__model_class(c->model, k)->parent) {
                ts__class *const class_of = ts__model_class(c->model, k);
                class_of->pub.edges++;
                if (sample < class_of->least) class_of->least = sample;
            }
        }
    }
}

/*
    The record does not show which edge held a node back. The rounds start with
    cases beyond doubt: launches after all other predecessors had ended, then
    edges so late that no launch could have held the node back, even with twice
    the launch delay found. With the delays of these, three more rounds find the
    holding edges and delays again.
*/
static void ts__calibrate_rounds(ts__calibration *c)
{
    ts__model *const m = c->model;
    ts__calibrate_fit(c, TS__SAMPLE_LAUNCHES);
    for (uint32_t i = 0; i < m->classes.count; i++)
        ts__model_class(m, i)->spread_from_start =
            ts__model_class(m, i)->spread;
    if (c->failed) return;
    ts__calibrate_launches(c, false);
    ts__calibrate_fit(c, TS__SAMPLE_LAUNCHES);
    if (c->failed) return;
    ts__calibrate_launches(c, true);
    ts__calibrate_fit(c, TS__SAMPLE_LAUNCHES);
    ts__calibrate_least(c);
    ts__calibrate_guards(c, 2);
    if (!c->failed) ts__calibrate_fit(c, TS__SAMPLE_OTHERS);
    for (int round = 0; round < 3 && !c->failed; round++) {
        ts__calibrate_guards(c, 1);
        ts__calibrate_fit(c, TS__SAMPLE_ALL);
    }
    ts__calibrate_guards(c, 1);
}

// Computes for each node the time that the delay of its class does not explain.
static void ts__calibrate_residuals(ts__calibration *c)
{
    const ts_replay *const r = c->replay;
    ts__model *const m = c->model;
    int64_t *const residual = (int64_t *)m->residual.data;
    const int64_t *const time = ts__replay_time(r);
    ts__calibrate_holds(c);
    for (uint32_t i = 0; i < r->node_count; i++) {
        const ts__hold *const hold = &ts__model_holds(m)[i];
        residual[i] = time[i];
        if (hold->edge == TS_NODE_NONE) continue;
        ((bool *)m->is_held.data)[i] = true;
        const uint32_t k = ts__model_edge_class(m, hold->edge);
        int64_t low = -TS__CLASS_NOISE_NS, high = TS__CLASS_NOISE_NS;
        residual[i] = time[i] - hold->at;
        if (k != TS_NODE_NONE) {
            const ts_delay *const d = &ts__model_class(m, k)->pub;
            low = d->low_ns - d->delay_ns;
            high = d->high_ns - d->delay_ns;
        }
        if (residual[i] >= low && residual[i] <= high) {
            residual[i] = 0;
            continue;
        }
        m->unexplained++;
        m->unexplained_ns = ts__replay_add(
            m->unexplained_ns, residual[i] < 0 ? -residual[i] : residual[i]);
    }
}

static bool ts__model_reserve(ts_replay *r, ts__model *m)
{
    const ts_allocator *const a = &r->allocator;
    const size_t edges = r->targets.count, nodes = r->node_count;
    return ts__rvec_fill(a, &m->edge_class, sizeof(uint32_t), edges, 0xFF) &&
           ts__rvec_reserve(a, &m->hold, sizeof(ts__hold), nodes) &&
           ts__rvec_fill(a, &m->is_held, sizeof(bool), nodes, 0) &&
           ts__rvec_reserve(a, &m->residual, sizeof(int64_t), nodes);
}

static bool ts__model_calibrate(ts_replay *r, ts__model *m)
{
    ts__calibration c = { 0 };
    c.replay = r;
    c.model = m;
    c.failed = !ts__model_reserve(r, m) ||
               !ts__rvec_fill(&r->allocator, &c.graphs, sizeof(uint64_t),
                              r->call_count, 0);
    if (!c.failed) ts__calibrate_graphs(&c);
    if (!c.failed) ts__calibrate_edges(&c);
    if (!c.failed) ts__calibrate_rounds(&c);
    if (!c.failed) ts__calibrate_residuals(&c);
    ts__rvec_close(&r->allocator, &c.graphs);
    ts__rsort_close(&r->allocator, &c.sort);
    ts__rvec_close(&r->allocator, &m->hold);
    m->calibrated = !c.failed;
    return m->calibrated;
}
