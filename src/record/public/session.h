/* ==== Session ============================================================ */

// What a recording call does when its thread's ring is full.
typedef enum ts_policy {
    TS_POLICY_HELP = 0,      // writes out its own ring: nothing is lost
    TS_POLICY_DROP = 1,      // refuses the new record and counts it
    TS_POLICY_OVERWRITE = 2, // flight recorder: forgets the oldest
    TS_POLICY_BLOCK = 3      // waits for the drain thread
} ts_policy;

typedef enum ts_drain {
    TS_DRAIN_THREAD = 0, // a background thread moves records to the file
    TS_DRAIN_MANUAL = 1  // only ts_session_flush does (and a full ring)
} ts_drain;

/*
    What a child made by fork() does. A signal handler may fork as well: the
    record that it interrupted is made once, by the parent. Handlers of
    pthread_atfork may call every function of this header: in the child the
    first call takes effect at once; in the parent new sites and names are not
    recorded, and calls of this section fail with TS_ERR_STATE.

    A child that runs no such handlers (_Fork, clone) records nothing and can
    start no session; the same holds for its children. On Linux before 4.14
    such a child must call neither this library nor exit().
*/
typedef enum ts_fork {
    TS_FORK_QUIET = 0, // the child records nothing
    TS_FORK_FOLLOW = 1 // it starts its own session; `path` must hold %p
} ts_fork;

/*
    How to record. All zeros but `path` is a complete desc.

    `path` may hold %p (process identifier), %r (rank), %h (host name), %%.
    An existing file of that name is replaced. Strings are copied.
*/
typedef struct ts_session_desc {
    const char *path TS__UNSET;      // the trace; required
    ts_policy policy TS__UNSET;      // on a full ring (TS_POLICY_HELP)
    ts_drain drain TS__UNSET;        // who empties the rings (TS_DRAIN_THREAD)
    ts_fork fork TS__UNSET;          // what children do (TS_FORK_QUIET)
    uint64_t memory_bytes TS__UNSET; // bound on all rings together (256 MiB)
    // largest ring of a thread, rounded up to a power of two, 32 KiB to 64 MiB
    // (4 MiB; TS_POLICY_OVERWRITE: 1 MiB)
    uint32_t ring_bytes TS__UNSET;
    // longest time from a record to its place in the file, about (500)
    uint32_t flush_ms TS__UNSET;
    uint32_t rank TS__UNSET; // rank of the process, for %r and merging (0)
    // zstd level 1-19, needs TRACESMITH_ZSTD (0: no)
    uint32_t compress TS__UNSET;
    int snapshot_signal TS__UNSET; // this signal writes a dump (0: none)
    // where dumps go; may also hold %n, the dump's number ("PATH.%n.sbt")
    const char *snapshot_path TS__UNSET;
    // folder of the rings (/dev/shm if it is a memory file system, else that of
    // the trace)
    const char *sidecar_dir TS__UNSET;
    const char *app TS__UNSET; // name of the program (its file name)
} ts_session_desc;

/*
    Starts recording. There is one session in a process; threads need no
    registration and may already run. Under ts-record the trace also becomes
    part of the one that ts-record writes. After a failure the program runs as
    it would without TraceSmith: recording calls do nothing, and ts_session_stop
    returns that failure again.

    Threads: any; calls of this section exclude each other.
    Errors:  TS_ERR_USAGE     a field is out of range, or no path
             TS_ERR_STATE     a session runs already (nested sessions)
             TS_ERR_IO        the trace cannot be created
             TS_ERR_NOT_FILE  `path` names a folder, a device or a pipe
             TS_ERR_BUSY      another process is writing it
             TS_ERR_DISK_FULL no room for the header or the first rings
             TS_ERR_MEMORY    the rings cannot be mapped
             TS_ERR_UNSUPPORTED `compress` without TRACESMITH_ZSTD
*/
TS_API ts_result ts_session_start(const ts_session_desc *desc);

/*
    Writes what is buffered and the index, and closes the trace. Zones that are
    open at this moment become zone_open events. Is called at exit if the
    program does not call it. After a start that failed it returns that failure,
    once, so that a program which checks only this result notices.

    Threads: others may go on recording; what they record from here on is not
             part of the trace.
    Errors:  TS_ERR_STATE nothing was started, or it was stopped already
             the first error since the start: TS_ERR_IO, TS_ERR_DISK_FULL (of
             the trace's disk or the rings'), TS_ERR_MEMORY (a ring could not
             be mapped). The loss ledger counts the records that it cost.
*/
TS_API ts_result ts_session_stop(void);

// Stops recording; the trace stays open. A zone that began before the pause and
// ends in it is recorded. Threads: any. Errors: TS_ERR_STATE without a session.
TS_API ts_result ts_session_pause(void);
// Records again after a pause. Threads: any. Errors: TS_ERR_STATE without a
// session.
TS_API ts_result ts_session_resume(void);

// Returns when everything recorded before the call is in the file (not
// necessarily on the disk). Errors: TS_ERR_STATE, and as ts_session_stop.
TS_API ts_result ts_session_flush(void);

/*
    Writes a dump: what the rings hold now, as a complete trace of its own.
    Recording goes on. With TS_POLICY_OVERWRITE the rings hold the last moments
    before the call; with another policy, what is not in the file yet.

    path: as in the desc, with %n too; NULL: the desc's snapshot_path.
    Errors: TS_ERR_STATE, TS_ERR_IO, TS_ERR_DISK_FULL.
*/
TS_API ts_result ts_session_snapshot(const char *path);

typedef struct ts_stats {
    uint64_t records;      // moved from the rings to the file so far
    uint64_t lost;         // sum of the losses of every cause
    uint64_t lost_by[16];  // by ts_loss
    uint64_t helped;       // times a producer drained its own ring
    uint64_t blocked;      // times a producer waited
    uint64_t stall_ns;     // that helping and waiting took
    uint64_t file_bytes;   // size of the trace
    uint64_t memory_bytes; // of rings
    uint32_t rings;        // in use or in the pool
    uint32_t threads;      // that recorded so far
    uint32_t generation;   // counts sessions of this process; 0: none yet
    bool recording;        // started and not paused
} ts_stats;

// The figures of the session, or of the last one after it was stopped.
// Threads: any. Errors: TS_ERR_USAGE when stats is NULL.
TS_API ts_result ts_session_stats(ts_stats *stats);
