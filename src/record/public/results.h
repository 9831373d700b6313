/* ==== Results ============================================================ */

// Values are pinned; new ones are added at the end.
#define TS_RESULTS(X) \
    X(TS_OK, 0, "ok") \
    X(TS_ERR_USAGE, -1, "a call breaks the rules of its description") \
    X(TS_ERR_STATE, -2, "not possible in the current state of the session") \
    X(TS_ERR_MEMORY, -3, "out of memory") \
    X(TS_ERR_IO, -4, "a file could not be read or written") \
    X(TS_ERR_DISK_FULL, -5, "no space left on the disk") \
    X(TS_ERR_TRUNCATED, -6, "the file ends inside a chunk") \
    X(TS_ERR_CORRUPT, -7, "a chunk breaks the rules of the format") \
    X(TS_ERR_NOT_SBT, -8, "not an SBT file") \
    X(TS_ERR_VERSION, -9, "written by an incompatible version") \
    X(TS_ERR_UNSUPPORTED, -10, "not supported by this build") \
    X(TS_ERR_NOT_FOUND, -11, "not found in the trace") \
    X(TS_ERR_BUSY, -12, "the trace is still being written") \
    X(TS_ERR_NOT_FILE, -13, "a folder, a device or a named pipe, not a file") \
    X(TS_ERR_UNTRUSTED, -14, \
      "other users can access the sidecar, or it belongs to another trace")

typedef enum ts_result {
#define TS__X(name, value, text) name = value,
    TS_RESULTS(TS__X)
#undef TS__X
} ts_result;

// What a result means, as one lower-case clause without a full stop: "out of
// memory". Never NULL; static text, valid for ever. Threads: any.
TS_API const char *ts_result_text(ts_result result);
