/* ---- Graph: clocks of several files ------------------------------------- */

// The difference between the ends of two members of a rendezvous.
typedef struct ts__rendezvous_gap {
    int64_t gap;
    uint32_t file;
} ts__rendezvous_gap;

static int ts__rendezvous_gap_compare(const void *left, const void *right)
{
    const ts__rendezvous_gap *const a = (const ts__rendezvous_gap *)left;
    const ts__rendezvous_gap *const b = (const ts__rendezvous_gap *)right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    return (a->gap > b->gap) - (a->gap < b->gap);
}

// Lists the rows of each rendezvous in one array.
static bool ts__rendezvous_list(ts__loader *l, ts__rvec *members)
{
    ts_replay *const r = l->replay;
    uint32_t sum = 0;
    for (size_t i = 0; i < r->rendezvous.count; i++) {
        ts__rendezvous *const rendezvous =
            (ts__rendezvous *)r->rendezvous.data + i;
        rendezvous->first = sum;
        sum += rendezvous->count;
        rendezvous->count = 0;
    }
    if (!ts__rvec_reserve(l->allocator, members, sizeof(uint32_t), sum))
        return false;
    for (size_t i = 0; i < l->rows.count; i++) {
        if (ts__loader_op(l, i)->kind != TS_EVENT_COLLECTIVE) continue;
        const uint32_t of = ts__loader_coll(l, (uint32_t)i)->rendezvous;
        if (!of) continue;
        ts__rendezvous *const rendezvous =
            (ts__rendezvous *)r->rendezvous.data + of - 1;
        ((uint32_t *)members->data)[rendezvous->first + rendezvous->count++] =
            (uint32_t)i;
    }
    return true;
}

// Returns the file whose clock the times of a lane use.
static uint32_t ts__rendezvous_clock(const ts__loader *l, uint32_t lane)
{
    const uint32_t file = ts__replay_lane_at(l->replay, lane)->file;
    return ts__replay_file(l->replay, file)->clock;
}

static uint32_t ts__rendezvous_file(const ts__loader *l, uint32_t row)
{
    return ts__rendezvous_clock(l, ts__loader_row(l, row)->track);
}

// Collects how much earlier members of files that are not aligned end than a
// member of an aligned file.
static bool ts__rendezvous_gaps(ts__loader *l, const ts__rvec *members,
                                const bool *known, const int64_t *shift,
                                ts__rvec *gaps)
{
    const ts_replay *const r = l->replay;
    const uint32_t *const rows = (const uint32_t *)members->data;
    for (size_t i = 0; i < r->rendezvous.count; i++) {
        const ts__rendezvous *const m =
            (const ts__rendezvous *)r->rendezvous.data + i;
        uint32_t of = 0;
        while (of < m->count &&
               !known[ts__rendezvous_file(l, rows[m->first + of])])
            of++;
        if (of == m->count) continue;
        const ts__row *const sure = ts__loader_row(l, rows[m->first + of]);
        const int64_t end = sure->start + sure->duration +
                            shift[ts__rendezvous_file(l, rows[m->first + of])];
        for (uint32_t k = 0; k < m->count; k++) {
            const uint32_t row = rows[m->first + k];
            const ts__row *const other = ts__loader_row(l, row);
            if (known[ts__rendezvous_file(l, row)]) continue;
            ts__rendezvous_gap *const gap = (ts__rendezvous_gap *)ts__rvec_push(
                l->allocator, gaps, sizeof *gap);
            if (!gap) return false;
            gap->gap = end - (other->start + other->duration);
            gap->file = ts__rendezvous_file(l, row);
        }
    }
    return true;
}

static int64_t ts__rendezvous_distance(int64_t a, int64_t b)
{
    const uint64_t distance =
        a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
    return distance > INT64_MAX ? INT64_MAX : (int64_t)distance;
}

// Computes the median shift of a file, and the median distance from it.
static void ts__rendezvous_median(ts_replay *r, ts__rendezvous_gap *gaps,
                                  size_t count, int64_t *shift)
{
    ts_replay_file *const file = ts__replay_file(r, gaps[0].file);
    const int64_t median = gaps[(count - 1) / 2].gap;
    // A shift out of the range of times means nothing; summed up from file to
    // file it would overflow.
    *shift = ts__replay_time_ok(median) ? median : 0;
    file->matched = count;
    for (size_t i = 0; i < count; i++)
        gaps[i].gap = ts__rendezvous_distance(gaps[i].gap, median);
    qsort(gaps, count, sizeof *gaps, ts__rendezvous_gap_compare);
    file->residual_ns = gaps[(count - 1) / 2].gap;
}

// Shifts all times of the files, except those that would leave the range.
static void ts__rendezvous_shift(ts__loader *l, int64_t *shift)
{
    ts_replay *const r = l->replay;
    for (size_t i = 0; i < l->rows.count; i++) {
        const uint32_t file = ts__rendezvous_file(l, (uint32_t)i);
        const int64_t issue = ts__loader_op(l, i)->issue;
        if (!ts__replay_time_ok(ts__loader_row(l, i)->start + shift[file]) ||
            (issue != TS__NO_TIME && !ts__replay_time_ok(issue + shift[file])))
            shift[file] = 0;
    }
    for (size_t i = 0; i < l->calls.count; i++) {
        const ts__row_call *const call = ts__loader_call(l, i);
        const uint32_t file = ts__rendezvous_clock(l, call->track);
        if (!ts__replay_time_ok(call->start + shift[file])) shift[file] = 0;
    }
    for (size_t i = 0; i < l->rows.count; i++) {
        ts__op *const op = ts__loader_op(l, i);
        const int64_t by = shift[ts__rendezvous_file(l, (uint32_t)i)];
        ts__loader_row(l, i)->start += by;
        if (op->issue != TS__NO_TIME) op->issue += by;
    }
    for (size_t i = 0; i < l->calls.count; i++) {
        ts__row_call *const call = ts__loader_call(l, i);
        call->start += shift[ts__rendezvous_clock(l, call->track)];
    }
    for (uint32_t i = 0; i < r->files.count; i++) {
        ts_replay_file *const file = ts__replay_file(r, i);
        file->offset_ns += shift[file->clock];
        file->matched = ts__replay_file(r, file->clock)->matched;
        file->residual_ns = ts__replay_file(r, file->clock)->residual_ns;
    }
}

// If no further file has anything in common with aligned files, counts the next
// file as aligned. False if there is none.
static bool ts__rendezvous_next(const ts_replay *r, bool *right)
{
    for (uint32_t i = 0; i < r->files.count; i++)
        if (!right[i] && ts__replay_file(r, i)->clock == i)
            return right[i] = true;
    return false;
}

/*
    Aligns the clocks of further files by the ends of collectives that they have
    in common with aligned files, beginning with the first file: a collective
    ends everywhere at about the same time.
*/
static bool ts__rendezvous_align(ts__loader *l)
{
    ts_replay *const r = l->replay;
    ts__rvec members = { 0 }, known = { 0 }, shifts = { 0 }, gaps = { 0 };
    bool ok =
        ts__rendezvous_list(l, &members) &&
        ts__rvec_fill(l->allocator, &known, sizeof(bool), r->files.count, 0) &&
        ts__rvec_fill(l->allocator, &shifts, sizeof(int64_t), r->files.count,
                      0);
    bool *const right = (bool *)known.data;
    int64_t *const shift = (int64_t *)shifts.data;
    if (ok) right[0] = true;
    while (ok) {
        gaps.count = 0;
        ok = ts__rendezvous_gaps(l, &members, right, shift, &gaps);
        if (!ok || (!gaps.count && !ts__rendezvous_next(r, right))) break;
        ts__rendezvous_gap *const list = (ts__rendezvous_gap *)gaps.data;
        if (gaps.count)
            qsort(list, gaps.count, sizeof *list, ts__rendezvous_gap_compare);
        for (size_t first = 0, end; first < gaps.count; first = end) {
            for (end = first + 1; end < gaps.count; end++)
                if (list[end].file != list[first].file) break;
            const uint32_t file = list[first].file;
            ts__rendezvous_median(r, list + first, end - first, &shift[file]);
            right[file] = true;
        }
    }
    if (ok) ts__rendezvous_shift(l, shift);
    ts__rvec_close(l->allocator, &members);
    ts__rvec_close(l->allocator, &known);
    ts__rvec_close(l->allocator, &shifts);
    ts__rvec_close(l->allocator, &gaps);
    return ok;
}

// Matches collectives and aligns clocks. Lanes must have their devices.
static bool ts__loader_rendezvous(ts__loader *l)
{
    ts__rvec items = { 0 };
    ts__rmap ranks = { { 0 }, 0 };
    bool ok = ts__rendezvous_gather(l, &items) &&
              ts__rendezvous_ranks(l, &items, &ranks) && ts__rendezvous_jobs(l);
    for (int stage = 0; ok && items.count && stage <= TS__RENDEZVOUS_NAME;
         stage++)
        ok = ts__rendezvous_stage_run(l, &items, &ranks,
                                      (ts__rendezvous_stage)stage);
    if (ok && items.count && l->replay->files.count > 1)
        ok = ts__rendezvous_align(l);
    ts__rvec_close(l->allocator, &items);
    ts__rvec_close(l->allocator, &ranks.entries);
    return ok;
}
