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
    What a child made by fork() does. A signal handler may fork as well: what it
    interrupted is recorded once, by the parent. Handlers of pthread_atfork may
    call all of this: in the child the first such call begins it; in the parent
    sites and names that are new are not recorded, and session calls fail.
    A child that runs no such handlers (_Fork, clone) records nothing, and nor
    do its own; it can start no session. Where Linux is older than 4.14 such a
    child must call neither this nor exit().
*/
typedef enum ts_fork {
    TS_FORK_QUIET = 0, // records nothing
    TS_FORK_FOLLOW = 1 // starts a session of its own; `path` must hold %p
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
    // a record is in the file after at most about this long (500)
    uint32_t flush_ms TS__UNSET;
    uint32_t rank TS__UNSET; // rank of the process, for %r and merging (0)
    // zstd level 1-19, needs TRACESMITH_ZSTD (0: no)
    uint32_t compress TS__UNSET;
    int snapshot_signal TS__UNSET; // this signal writes a snapshot (0: none)
    // where, may also hold %n, a count ("PATH.%n.sbt")
    const char *snapshot_path TS__UNSET;
    // where rings lie (/dev/shm if it is a memory file system, else beside the
    // trace)
    const char *sidecar_dir TS__UNSET;
    const char *app TS__UNSET; // name of the program (its file name)
} ts_session_desc;

/*
    Starts recording. There is one session in a process; threads need no
    registration and may already run. Under ts-record the trace is also in
    what that writes. After a failure the program runs as it would without
    TraceSmith: recording calls do nothing, and ts_session_stop returns that
    failure again.

    Threads: any; calls of this section exclude each other.
    Errors:  TS_ERR_USAGE     a field is out of range, or no path
             TS_ERR_STATE     a session runs already (nested sessions)
             TS_ERR_IO        the trace cannot be created
             TS_ERR_NOT_FILE  something that is no file has its name
             TS_ERR_BUSY      another process is writing it
             TS_ERR_DISK_FULL no room for the header or the first rings
             TS_ERR_MEMORY    the rings cannot be mapped
             TS_ERR_UNSUPPORTED `compress` without TRACESMITH_ZSTD
*/
TS_API ts_result ts_session_start(const ts_session_desc *desc);

/*
    Writes what is buffered, the index and the end. Zones open at this moment
    become zone_open events. Runs by itself at exit. After a start that failed
    it returns that failure, once, so that a program which checks only here
    notices.

    Threads: others may go on recording; what they record from here on is not
             part of the trace.
    Errors:  TS_ERR_STATE nothing was started, or it was stopped already
             the first error since the start: TS_ERR_IO, TS_ERR_DISK_FULL (of
             the trace, or where rings lie), TS_ERR_MEMORY (a ring could not
             be mapped). What it cost is in the ledger.
*/
TS_API ts_result ts_session_stop(void);

// Recording stops / goes on; the trace stays open. Zones that began before a
// pause and end in it are recorded. Errors: TS_ERR_STATE without a session.
TS_API ts_result ts_session_pause(void);
TS_API ts_result ts_session_resume(void);

// Returns when everything recorded before the call is in the file (not
// necessarily on the disk). Errors: TS_ERR_STATE, and as ts_session_stop.
TS_API ts_result ts_session_flush(void);

/*
    Writes what the rings hold now as a complete trace of its own and goes on
    recording. With TS_POLICY_OVERWRITE these are the last moments before the
    call; with another policy what is not in the file yet.

    path: as in the desc, with %n too; NULL: the desc's snapshot_path.
    Errors: TS_ERR_STATE, TS_ERR_IO, TS_ERR_DISK_FULL.
*/
TS_API ts_result ts_session_snapshot(const char *path);

typedef struct ts_stats {
    uint64_t records;      // moved from rings to the file so far
    uint64_t lost;         // sum of the losses of every cause
    uint64_t lost_by[16];  // by ts_loss
    uint64_t helped;       // times a producer drained its own ring
    uint64_t blocked;      // times a producer waited
    uint64_t stall_ns;     // time both took
    uint64_t file_bytes;   // size of the trace
    uint64_t memory_bytes; // of rings
    uint32_t rings;        // in use or in the pool
    uint32_t threads;      // that recorded so far
    uint32_t generation;   // counts sessions of this process; 0: none yet
    bool recording;        // started and not paused
} ts_stats;

// Threads: any. Errors: TS_ERR_USAGE when stats is NULL. After a stop the
// figures of the last session stay.
TS_API ts_result ts_session_stats(ts_stats *stats);
