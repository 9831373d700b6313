/* ---- Model: steps ------------------------------------------------------- */

typedef struct ts__step_zone {
    int64_t start_ns;
    uint64_t number;
    ts_text name;
} ts__step_zone;

// Parses the number of a name like "ProfilerStep#12".
static bool ts__step_number(ts_text name, uint64_t *number)
{
    static const char begin[] = "ProfilerStep#";
    const size_t size = sizeof begin - 1;
    if (name.size <= size || memcmp(name.text, begin, size)) return false;
    *number = 0;
    for (size_t i = size; i < name.size; i++) {
        if (name.text[i] < '0' || name.text[i] > '9') return false;
        *number = *number * 10 + (uint64_t)(name.text[i] - '0');
    }
    return true;
}

static bool ts__steps_any_zone(const ts_reader *reader)
{
    const ts_info *const info = ts_reader_info(reader);
    uint64_t number;
    uint32_t found = 0;
    for (uint32_t i = 1; found < info->site_count; i++) {
        if (!ts_reader_site(reader, i)) {
            if (i > info->site_count) break;
            continue;
        }
        found++;
        if (ts__step_number(ts_reader_site_name(reader, i), &number))
            return true;
    }
    return false;
}

// Reads the steps of a file in order of start, one for each number.
static bool ts__steps_read(ts_replay *r, ts__model *m, uint32_t file)
{
    const ts_replay_file *const f = ts__replay_file(r, file);
    const bool zones = ts__steps_any_zone(f->reader);
    if (!zones && !ts_reader_info(f->reader)->counts[TS_EVENT_FRAME])
        return true;
    const ts_filter filter = { .kinds =
                                   zones ? TS_FILTER(ZONE) : TS_FILTER(FRAME) };
    ts_cursor *cursor;
    if (ts_cursor_open(&cursor, f->reader, &filter) != TS_OK) return false;
    ts_event event;
    bool ok = true;
    while (ok && ts_cursor_next(cursor, &event)) {
        ts__step_zone zone = { ts__replay_add(event.start_ns, f->offset_ns),
                               m->step_zones.count,
                               { "frame", 5 } };
        if (zones) {
            zone.name = ts_reader_site_name(
                f->reader, (uint32_t)ts_event_value(&event, TS_COLUMN_SITE));
            if (!ts__step_number(zone.name, &zone.number)) continue;
        }
        const size_t count = m->step_zones.count;
        const ts__step_zone *const all = m->step_zones.data;
        // The profiler marks each step on the host and on the device.
        if (count && all[count - 1].number == zone.number) continue;
        ts__step_zone *const to = (ts__step_zone *)ts__rvec_push(
            &r->allocator, &m->step_zones, sizeof *to);
        ok = to != NULL;
        if (ok) *to = zone;
    }
    ts_cursor_close(cursor);
    return ok;
}

// Returns the index of the step in which the host issued an operation.
static size_t ts__steps_find(const ts__model *m, int64_t issue)
{
    const ts__step_zone *const zones =
        (const ts__step_zone *)m->step_zones.data;
    size_t low = 0, high = m->step_zones.count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (zones[middle].start_ns <= issue)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void ts__steps_times(const ts_replay *r, ts__model *m)
{
    ts_step *const steps = (ts_step *)m->steps.data;
    const size_t count = m->steps.count;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (ts__replay_skips(r)[i] != TS_SKIP_NOT) continue;
        ts_step *const step = &steps[ts__steps_find(m, ts__alter_issue(r, i))];
        const int64_t end = ts__op_end(r, i), was = ts__replay_end(r, i);
        if (!step->operations++ || end > step->end_ns) step->end_ns = end;
        if (step->operations == 1 || was > step->recorded_ns)
            step->recorded_ns = was;
    }
    int64_t last = r->stats.start_ns, was = r->stats.recorded_start_ns;
    for (size_t i = 0; i < count; i++) {
        ts_step *const step = &steps[i];
        step->start_ns = last;
        if (!step->operations || step->end_ns < last) step->end_ns = last;
        const int64_t recorded = step->operations && step->recorded_ns > was
                                     ? step->recorded_ns
                                     : was;
        step->recorded_ns = recorded - was;
        last = step->end_ns;
        was = recorded;
    }
}

static void ts__steps_costs(const ts_path *path, ts_step *steps, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < path->count; i++) {
        int64_t from = path->parts[i].start_ns;
        const int64_t to = path->parts[i].end_ns;
        while (from < to && at < count) {
            const int64_t end = to < steps[at].end_ns ? to : steps[at].end_ns;
            if (end > from)
                steps[at].cost_ns[path->parts[i].cost] += end - from;
            if (end > from) from = end;
            if (from >= steps[at].end_ns) at++;
        }
    }
}

TS_API ts_result ts_replay_steps(ts_replay *replay, const ts_step **steps,
                                 size_t *count)
{
    ts_path path;
    if (!replay || !steps || !count) return TS_ERR_USAGE;
    *count = 0;
    *steps = NULL;
    if (!replay->start.count) return TS_ERR_STATE;
    ts__model *const m = ts__model_of(replay);
    if (!m) return TS_ERR_MEMORY;
    for (uint32_t i = 0; !m->looked_for_steps && i < replay->files.count; i++) {
        if (!ts__steps_read(replay, m, i)) return TS_ERR_MEMORY;
        if (m->step_zones.count) break;
    }
    m->looked_for_steps = true;
    // Without steps the path is not needed; it costs time and memory.
    if (!m->step_zones.count) return TS_OK;
    const ts_result result = ts_replay_path(replay, &path);
    if (result != TS_OK) return result;
    if (!m->has_steps) {
        const size_t zones = m->step_zones.count;
        if (!ts__rvec_fill(&replay->allocator, &m->steps, sizeof(ts_step),
                           zones, 0))
            return TS_ERR_MEMORY;
        for (size_t i = 0; i < zones; i++) {
            const ts__step_zone *const zone =
                (const ts__step_zone *)m->step_zones.data + i;
            ((ts_step *)m->steps.data)[i].name = zone->name;
            ((ts_step *)m->steps.data)[i].number = zone->number;
        }
        if (zones) ts__steps_times(replay, m);
        ts__steps_costs(&path, (ts_step *)m->steps.data, zones);
        m->has_steps = true;
    }
    *steps = (const ts_step *)m->steps.data;
    *count = m->steps.count;
    return TS_OK;
}
