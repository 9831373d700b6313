/* ==== Losses and salvage ================================================= */

// Reports that `count` records of `track` between two ticks of clock 0 are
// missing. detail: one clause that says which, copied; may be NULL. Threads:
// any.
TS_API void ts_loss_report(uint32_t track, ts_loss cause, const char *detail,
                           uint64_t count, uint64_t first, uint64_t last);

#if !defined(TS__STATIC) || defined(TRACESMITH_SALVAGE) || \
    defined(TRACESMITH_REPLAY_IMPLEMENTATION)
/*
    Moves what a dead process left in its sidecar into its trace, finishes
    the trace and removes the sidecar. Does nothing to a finished trace.

    records: receives how many records were moved; may be NULL.
    Threads: any; of two that salvage one trace the second finds it finished.
    Errors:  TS_ERR_BUSY      the recording process lives
             TS_ERR_NOT_FOUND the trace is unfinished but no sidecar was found
                              (the index can still be rebuilt by a reader)
             TS_ERR_UNTRUSTED the file at the sidecar's path is a link, can be
                              written by others, or belongs to another trace
             TS_ERR_VERSION   made by another version of TraceSmith
             TS_ERR_NOT_FILE, TS_ERR_NOT_SBT, TS_ERR_IO, TS_ERR_DISK_FULL,
             TS_ERR_MEMORY
*/
TS_API ts_result ts_salvage(const char *trace, uint64_t *records);
#endif

/*
    With TRACESMITH_DISABLE recording calls compile to nothing, too: arguments
    are type-checked and not evaluated. They return success, and 0 for what they
    would define; ts_salvage returns TS_ERR_UNSUPPORTED.
*/
#ifdef TRACESMITH_DISABLE
static inline __attribute__((always_inline)) int ts__gone(size_t size)
{
    (void)size;
    return 0;
}
#define TS__GONE(type, call)      ((type)ts__gone(sizeof(call)))
#define TS__GONE_VOID(call)       ((void)sizeof((call, 0)))
#define ts_session_start(desc)    TS__GONE(ts_result, ts_session_start(desc))
#define ts_session_stop()         TS__GONE(ts_result, ts_session_stop())
#define ts_session_pause()        TS__GONE(ts_result, ts_session_pause())
#define ts_session_resume()       TS__GONE(ts_result, ts_session_resume())
#define ts_session_flush()        TS__GONE(ts_result, ts_session_flush())
#define ts_session_snapshot(path) TS__GONE(ts_result, ts_session_snapshot(path))
#define ts_name_define(text)      TS__GONE(uint32_t, ts_name_define(text))
#define ts_name_define_sized(text, size) \
    TS__GONE(uint32_t, ts_name_define_sized(text, size))
#define ts_site_define(name, base) \
    TS__GONE(uint32_t, ts_site_define(name, base))
#define ts_counter_define(name, unit, flags) \
    TS__GONE(uint32_t, ts_counter_define(name, unit, flags))
#define ts_metadata_int(track, key, value) \
    TS__GONE_VOID(ts_metadata_int(track, key, value))
#define ts_metadata_double(track, key, value) \
    TS__GONE_VOID(ts_metadata_double(track, key, value))
#define ts_metadata_text(track, key, value) \
    TS__GONE_VOID(ts_metadata_text(track, key, value))
#define ts_thread_name(name)  TS__GONE_VOID(ts_thread_name(name))
#define ts_thread_track()     TS__GONE(uint32_t, ts_thread_track())
#define ts_module_define(...) TS__GONE(uint32_t, ts_module_define(__VA_ARGS__))
#define ts_stack_define(frames, count) \
    TS__GONE(uint32_t, ts_stack_define(frames, count))
#define ts_gpu_origin_stacks(here) TS__GONE_VOID(ts_gpu_origin_stacks(here))
#define ts_backend_add(backend)    TS__GONE(ts_result, ts_backend_add(backend))
#define ts_frame_listen(hook)      TS__GONE(ts_result, ts_frame_listen(hook))
#define ts_frame_hint(name)        TS__GONE_VOID(ts_frame_hint(name))
#define ts_tick_now()              TS__GONE(uint64_t, ts_tick_now())
#define ts_clock_define(name)      TS__GONE(uint32_t, ts_clock_define(name))
#define ts_clock_sample(...)       TS__GONE_VOID(ts_clock_sample(__VA_ARGS__))
#define ts_gpu_device_define(desc) \
    TS__GONE(uint32_t, ts_gpu_device_define(desc))
#define ts_gpu_context_define(desc) \
    TS__GONE(uint32_t, ts_gpu_context_define(desc))
#define ts_gpu_stream_define(desc) \
    TS__GONE(uint32_t, ts_gpu_stream_define(desc))
#define ts_gpu_launch_define(desc) \
    TS__GONE(uint32_t, ts_gpu_launch_define(desc))
#define ts_gpu_op_record(op)         TS__GONE_VOID(ts_gpu_op_record(op))
#define ts_gpu_access_record(access) TS__GONE_VOID(ts_gpu_access_record(access))
#define ts_gpu_dependency_record(dependency) \
    TS__GONE_VOID(ts_gpu_dependency_record(dependency))
#define ts_api_call_record(call) TS__GONE_VOID(ts_api_call_record(call))
#define ts_loss_report(...)      TS__GONE_VOID(ts_loss_report(__VA_ARGS__))

#define ts_zone_begin(site)      ts__gone_zone(sizeof(ts_zone_begin(site)))
#define ts_zone_begin_site(site) ts__gone_zone(sizeof(ts_zone_begin_site(site)))
#define ts_zone_end(zone)        TS__GONE_VOID(ts_zone_end(zone))
#define ts_zone_end_outer(zone)  TS__GONE_VOID(ts_zone_end_outer(zone))
#define ts_zone_value_int(name, value) \
    TS__GONE_VOID(ts_zone_value_int(name, value))
#define ts_zone_value_uint(name, value) \
    TS__GONE_VOID(ts_zone_value_uint(name, value))
#define ts_zone_value_double(name, value) \
    TS__GONE_VOID(ts_zone_value_double(name, value))
#define ts_zone_text(text)           TS__GONE_VOID(ts_zone_text(text))
#define ts_mark(site)                TS__GONE_VOID(ts_mark(site))
#define ts_mark_site(site)           TS__GONE_VOID(ts_mark_site(site))
#define ts_counter_int(c, value)     TS__GONE_VOID(ts_counter_int(c, value))
#define ts_counter_uint(c, value)    TS__GONE_VOID(ts_counter_uint(c, value))
#define ts_counter_double(c, value)  TS__GONE_VOID(ts_counter_double(c, value))
#define ts_alloc(...)                TS__GONE_VOID(ts_alloc(__VA_ARGS__))
#define ts_free(ptr, pool)           TS__GONE_VOID(ts_free(ptr, pool))
#define ts_message(text)             TS__GONE_VOID(ts_message(text))
#define ts_message_sized(text, size) TS__GONE_VOID(ts_message_sized(text, size))
#define ts_frame(site)               TS__GONE_VOID(ts_frame(site))
#define ts_flow(id, phase)           TS__GONE_VOID(ts_flow(id, phase))
#define ts_span_start(id, site)      TS__GONE_VOID(ts_span_start(id, site))
#define ts_sample(...)               TS__GONE_VOID(ts_sample(__VA_ARGS__))
#define ts_span_start_site(id, site) TS__GONE_VOID(ts_span_start_site(id, site))
#define ts_span_end(id)              TS__GONE_VOID(ts_span_end(id))

// Nothing is put into a trace: TS_ERR_UNSUPPORTED.
#define ts_salvage(trace, records) \
    (TS__GONE_VOID(ts_salvage(trace, records)), ts__gone_salvage(records))
static inline ts_result ts__gone_salvage(uint64_t *records)
{
    if (records) *records = 0;
    return TS_ERR_UNSUPPORTED;
}
static inline __attribute__((always_inline)) ts_zone ts__gone_zone(size_t size)
{
    const ts_zone none = { 0, 0, 0 };
    (void)size;
    return none;
}
static inline ts_result ts__gone_stats(ts_stats *stats)
{
    static ts_stats none; // zeros, in C++ too
    *stats = none;
    return TS_OK;
}
static inline ts_result ts__gone_blob(uint64_t hash[2])
{
    if (hash) hash[0] = hash[1] = 0;
    return TS_OK;
}
static inline ts_gpu_origin ts__gone_origin(void)
{
    static ts_gpu_origin none;
    return none;
}
#define ts_session_stats(stats) ts__gone_stats(stats)
#define ts_blob_put(bytes, size, hash) \
    (TS__GONE_VOID(ts_blob_put(bytes, size, hash)), ts__gone_blob(hash))
#define ts_blob_find(bytes, size, hash) \
    (TS__GONE_VOID(ts_blob_find(bytes, size, hash)), ts__gone_blob(hash))
#define ts_capture_put(record, size) \
    TS__GONE(ts_result, ts_capture_put(record, size))
#define ts_zone_inside(name) TS__GONE(bool, ts_zone_inside(name))
#define ts_gpu_origin_here() ts__gone_origin()
#endif
