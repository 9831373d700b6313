/* ---- Loss ledger -------------------------------------------------------- */

// A total has one writer at a time; the drain reads it without a lock.
static void ts__loss_add(ts__loss_total *total, uint64_t count, uint64_t first,
                         uint64_t last, uint64_t stall_ns)
{
    const uint64_t before = TS__LOAD(&total->count);
    if (!before || (int64_t)(first - TS__LOAD(&total->first)) < 0)
        TS__STORE(&total->first, first);
    if (!before || (int64_t)(last - TS__LOAD(&total->last)) > 0)
        TS__STORE(&total->last, last);
    TS__STORE(&total->stall_ns, TS__LOAD(&total->stall_ns) + stall_ns);
    TS__STORE(&total->count, before + count);
}

// The row for a loss among the rows before `shared`; if these are all taken, a
// row behind them that several losses share.
static ts__loss_total *ts__loss_find(ts__loss_total *total,
                                     ts__loss_total *shared, uint32_t row,
                                     uint32_t track, ts_loss cause,
                                     uint32_t detail)
{
    while (total < shared && total->cause &&
           (total->cause != (uint32_t)cause || total->track != track ||
            total->detail != detail))
        total++;
    if (total == shared) {
        total += row;
        track = detail = 0;
    }
    TS__STORE(&total->track, track);
    TS__STORE(&total->detail, detail);
    TS__STORE(&total->cause, (uint32_t)cause);
    return total;
}

// Counts a loss of the thread that owns the ring; only that thread calls this.
// When all of its rows are taken, it uses one row for each of the four causes.
static void ts__loss_ring(ts__ring *ring, ts_loss cause, uint64_t count,
                          uint64_t first, uint64_t last, uint64_t stall_ns)
{
    ts__ring_rest *const rest = ts__rest(ring);
    const uint32_t row = cause == TS_LOSS_RING_FULL  ? 0
                         : cause == TS_LOSS_TOO_DEEP ? 1
                         : cause == TS_LOSS_HELPED   ? 2
                                                     : 3;
    ts__loss_add(ts__loss_find(rest->losses, rest->losses + TS__LOSS_SLOTS - 4,
                               row, rest->owner, cause, 0),
                 count, first, last, stall_ns);
}

// Counts a loss that has no ring or that another thread found. The last 16
// rows, one for each cause, are for losses that find no row of their own.
static void ts__loss_note(ts__sidecar *sidecar, uint32_t track, ts_loss cause,
                          uint32_t detail, uint64_t count, uint64_t first,
                          uint64_t last)
{
    if (!sidecar || !count) return;
    ts__lock_take(&ts__c.ledger);
    ts__loss_add(ts__loss_find(sidecar->losses,
                               sidecar->losses + TS__GLOBAL_LOSSES - 16,
                               (uint32_t)cause % 16, track, cause, detail),
                 count, first, last, 0);
    ts__lock_give(&ts__c.ledger);
}

// The same for a loss at this moment. The caller makes sure that the session's
// memory stays mapped.
static void ts__loss_now(uint32_t track, ts_loss cause)
{
    const uint64_t now = ts__tick();
    ts__loss_note(ts__c.writer.sidecar, track, cause, 0, 1, now, now);
}

static bool ts__loss_open(const ts__loss_total *total, uint64_t epoch)
{
    const bool done = total->pending_epoch <= epoch;
    return TS__LOAD(&total->count) != (done ? total->pending : total->sent);
}

// What the trace does not have yet of a total, as a row. The append that writes
// it sets the writer's epoch to `epoch` + 1.
static ts_loss_entry ts__loss_row(ts__loss_total *total, uint64_t epoch)
{
    if (total->pending_epoch <= epoch) {
        total->sent = total->pending;
        total->sent_stall = total->pending_stall;
        total->sent_last = total->pending_last;
    }
    total->pending_epoch = epoch + 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST); // a crash sees program order
    total->pending = TS__LOAD(&total->count);
    total->pending_stall = TS__LOAD(&total->stall_ns);
    total->pending_last = TS__LOAD(&total->last);
    ts_loss_entry row;
    row.cause = TS__LOAD(&total->cause);
    row.detail = TS__LOAD(&total->detail);
    row.count = total->pending - total->sent;
    row.first = total->sent ? total->sent_last : TS__LOAD(&total->first);
    row.last = total->pending_last;
    row.stall_ns = total->pending_stall - total->sent_stall;
    return row;
}
