/* ---- Fork --------------------------------------------------------------- */

// Takes all locks, so that none is held by a thread which the child does not
// have. Several threads may be forking at once.
static void ts__fork_prepare(void)
{
    if (!ts__api_enter(&ts__fork.caller)) return;
    ts__fork.follow = ts__c.active && ts__c.desc.fork == TS_FORK_FOLLOW;
    ts__fork.process = getpid();
    ts__lock_take(&ts__c.names);
    ts__lock_take(&ts__c.pool);
    ts__inside = 1; // the program's own handlers may call
}

static void ts__fork_parent(void)
{
    if (!ts__fork.process) return;
    ts__fork.process = 0;
    ts__inside = 0;
    ts__lock_give(&ts__c.pool);
    ts__lock_give(&ts__c.names);
    ts__api_leave(&ts__fork.caller);
}

/*
    Of the parent's rings the child keeps that of its own thread, as private
    memory: a signal handler that interrupted a record may have forked, and the
    record continues in both processes. The child has no threads that use the
    other rings.
*/
static void ts__fork_rings(void)
{
    ts__ring *next = ts__mine != &ts__none ? ts__mine : NULL, *own = NULL;
    for (ts__ring *ring = next; ring; ring = next) {
        ts__ring_rest *const rest = ts__rest(ring);
        next = rest->older;
        if (!next) {
            next = ts__before;
            ts__before = NULL;
        }
        if (!ts__own_memory(ring, ts__ring_offset(),
                            ts__ring_bytes(ring->shift)))
            continue; // the parent's, like the others
        rest->index = TS__RINGS_MAX;
        rest->older = own;
        own = ring;
    }
    if (own) ts__before = own;
    for (uint32_t i = 0; i < ts__c.ring_count; i++)
        if (ts__rest(ts__c.rings[i])->index == i)
            munmap(ts__c.rings[i], ts__ring_bytes(ts__c.rings[i]->shift));
}

// The child shares the parent's rings, trace and sidecar: it releases all of
// them, keeps the dictionary and, with TS_FORK_FOLLOW, starts its own session.
static void ts__fork_child(void)
{
    if (!ts__fork.process) return;
    ts__fork.process = 0;
    ts__here.gate = ts__here.session = 0;
    ts__here.tick = ts__c.tick_type;
    ts__fork_rings();
    ts__mine = &ts__none;
    ts__track = 0;
    ts__inside = 0;
    pthread_setspecific(ts__c.key, NULL);
    if (ts__c.active) {
        // A mapping would keep the sidecar locked after the parent's death.
        ts__file_close(&ts__c.writer.file);
        ts__file_close(&ts__c.sidecar_file);
        if (ts__shelves_own) ts__shelves_own();
        ts__names_close();
        munmap(ts__c.writer.sidecar, sizeof *ts__c.writer.sidecar);
        ts__signal_give();
    }
    memset((void *)&ts__c, 0, offsetof(ts__core, blocks));
    ts__c.writer.lock.word = 0;
    ts__c.writer.file.fd = ts__c.sidecar_file.fd = -1;
    ts__c.writer.sidecar = NULL;
    memset(ts__backends.state, 0, sizeof ts__backends.state);
    if (ts__fork.follow) ts__session_start_locked(&ts__c.desc);
    ts__caller_restore(&ts__fork.caller);
}

TS__SMALL_END

#endif // !TRACESMITH_DISABLE
#endif // TRACESMITH_IMPLEMENTATION
