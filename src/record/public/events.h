/* ==== Marks, counters, memory, frames, flows, spans ====================== */

/*
    TS_MARK(name[, category[, color]])  a moment on this thread
    TS_MESSAGE(text)              a text on this thread; at most 8,000 bytes
    TS_COUNTER(name, number)      a sample; counters belong to the process
    TS_ALLOC(ptr, size[, pool[, category]])  memory was allocated
    TS_FREE(ptr[, pool])          memory was freed; NULL is ignored
    TS_FRAME(name)                a frame ends and the next one begins
    TS_FLOW_START(id), _STEP, _END  an arrow through the zones around them
    TS_SPAN_START(id, name), TS_SPAN_END(id)  work that moves between threads
                                  or fibers; id is any u64, reusable after END
    TS_THREAD_NAME(text)          names the calling thread

    Names, pools and categories must be string literals; texts are copied.

    The functions below do what the macros do, from any thread and from signal
    handlers. While nothing is recorded they do nothing.
*/

// All cases of the function below that are not the usual one.
TS_API TS__COLD void ts__mark_slow(ts_site *site);

// Records a mark of a static site, whose texts must be literals.
static inline void ts_mark(ts_site *site)
{
    const uint32_t gate = TS__LOAD(&ts__here.gate);
    if (!gate) return;
    const uint32_t code = TS__CODE(&site->code);
    ts__ring *const ring = ts__mine;
    if (TS__LIKELY(code && ts__ring_quick(ring, gate, 1)))
        ts__ring_record(ring, code + (TS__REC_MARK - TS__REC_ZONE));
    else
        ts__mark_slow(site);
}

// Records a mark at a site made by ts_site_define (0: nothing).
static inline void ts_mark_site(uint32_t site)
{
    ts_site made = { TS__NULL, TS__NULL, TS__NULL,           TS__NULL,
                     0,        0,        TS__ZONE_CODE(site) };
    if (site) ts_mark(&made);
}

// All cases of the function below that are not the usual one.
TS_API TS__COLD void ts__counter_slow(ts_counter *counter, int64_t value);

// Records a sample of a static counter.
static inline void ts_counter_int(ts_counter *counter, int64_t value)
{
    const uint32_t gate = TS__LOAD(&ts__here.gate);
    if (!gate) return;
    const uint32_t code = TS__CODE(&counter->code);
    ts__ring *const ring = ts__mine;
    if (TS__LIKELY(code && value == TS__AS(int32_t, value) &&
                   ts__ring_quick(ring, gate, 1)))
        ts__ring_record(ring, TS__AS(uint64_t, value) << 32 | code);
    else
        ts__counter_slow(counter, value);
}

// Records a sample of a static counter, in floating point.
TS_API void ts_counter_double(ts_counter *counter, double value);
// Records an unsigned sample of a static counter; beyond INT64_MAX as a double.
TS_API void ts_counter_uint(ts_counter *counter, uint64_t value);

// As TS_ALLOC, with the call stack of the allocation: a number of
// ts_stack_define. pool: a name (0: none); site: see ts_site_define (0: none).
TS_API void ts_alloc_stack(const void *ptr, uint64_t size, uint32_t pool,
                           uint32_t category, uint32_t stack);
// Gives the innermost open zone its call stack, likewise. 0 is ignored.
TS_API void ts_zone_stack(uint32_t stack);

// Any pool, category (names, 0 none), address and size.
TS_API TS__COLD void ts__alloc_slow(uint64_t address, uint64_t size,
                                    uint32_t pool, uint32_t category);
TS_API TS__COLD void ts__free_slow(uint64_t address, uint32_t pool);

// Records an allocation of `size` bytes at ptr (NULL: nothing). pool, category:
// names (0: none). Its site is the innermost open zone's.
static inline void ts_alloc(const void *ptr, uint64_t size, uint32_t pool,
                            uint32_t category)
{
    const uint32_t gate = TS__LOAD(&ts__here.gate);
    if (!gate) return;
    const uint64_t address = TS__ADDRESS(ptr);
    ts__ring *const ring = ts__mine;
    if (TS__UNLIKELY(category || address >> 48 || size >> 56 ||
                     !ts__ring_quick(ring, gate, 2))) {
        ts__alloc_slow(address, size, pool, category);
        return;
    }
    if (!address) return;
    const uint64_t tick = ts__tick_machine();
    const uint32_t top = TS__LOAD(&ring->depth) - 1;
    const ts__open *const open = ts__ring_open(ring, top);
    uint64_t site = TS__LOAD(&open->code) >> 6;
    if (TS__LOAD(&open->depth) != top) site = 0; // none, or known no more
    const uint64_t position = ts__ring_reserve(ring, 2);
    ts__ring_count_more(ring, 1);
    ts__slot *const more = &ring->slots[(position + 1) & ring->mask];
    TS__STORE(&more->b, site << 32 | pool);
    TS__STORE(&more->a, (size << 8) + ts__ring_tag(ring, position + 1) + 1);
    ts__ring_publish(ring, position, tick, address << 16 | TS__REC_ALLOC);
}

// Records that memory at ptr was freed (NULL: nothing). pool: as ts_alloc had.
static inline void ts_free(const void *ptr, uint32_t pool)
{
    const uint32_t gate = TS__LOAD(&ts__here.gate);
    if (!gate) return;
    const uint64_t address = TS__ADDRESS(ptr);
    ts__ring *const ring = ts__mine;
    if (TS__UNLIKELY(pool || address >> 48 || !ts__ring_quick(ring, gate, 1)))
        ts__free_slow(address, pool);
    else if (address)
        ts__ring_record(ring, address << 16 | TS__REC_FREE);
}

// Records a message, which ends with a zero. NULL is ignored.
TS_API void ts_message(const char *text);
// Records a message of `size` bytes, of which at most 8,000 are kept. NULL is
// ignored.
TS_API void ts_message_sized(const char *text, size_t size);
// Records that a frame of a static site ends and the next one begins, and calls
// the hooks of ts_frame_listen.
TS_API void ts_frame(ts_site *site);
// Records an end or a step of an arrow; steps of equal ids are connected in
// order of time.
TS_API void ts_flow(uint64_t id, ts_phase phase);
// Records the start of a span of a static site.
TS_API void ts_span_start(uint64_t id, ts_site *site);
// Records the start of a span at a site made by ts_site_define (0: nothing).
static inline void ts_span_start_site(uint64_t id, uint32_t site)
{
    ts_site made = { TS__NULL, TS__NULL, TS__NULL,           TS__NULL,
                     0,        0,        TS__ZONE_CODE(site) };
    if (site) ts_span_start(id, &made);
}
// Records the end of the span with this id, on any thread.
TS_API void ts_span_end(uint64_t id);
// Records a sample of this thread: that it was at `stack`, a number of
// ts_stack_define, which stands for `weight` of what is sampled. name, unit:
// names, such as of "cpu" and "ns" (0: a plain count).
TS_API void ts_sample(uint32_t name, uint32_t unit, int64_t weight,
                      uint32_t stack);

/*
    The macros. Each has an on and an off form; off evaluates nothing but
    still checks the types of its arguments.
*/
#define TS__JOIN2(a, b) a##b
#define TS__JOIN(a, b)  TS__JOIN2(a, b)
// An argument that is not given: a text or a number. C++ warns of a 0 for both.
#ifdef __cplusplus
struct ts__nothing {
    constexpr operator const char *() const
    {
        return nullptr;
    }
    constexpr operator uint32_t() const
    {
        return 0;
    }
};
#define TS__NONE ts__nothing()
#else
#define TS__NONE 0
#endif
#define TS__SKIP(expr) ((void)sizeof(expr))

#ifdef TRACESMITH_DISABLE
#define TS__IF_ON(on, off) off
#else
#define TS__IF_ON(on, off) on
#endif

// `var`, a static site; category and colour are optional.
#define TS__SITE(var, ...) TS__SITE4(var, __VA_ARGS__, TS__NONE, TS__NONE, 0)
#define TS__SITE4(var, name, category, color, ...) \
    static ts_site var = { name,     category, __func__, __FILE__, \
                           __LINE__, color,    0 }

#ifdef __cplusplus
struct ts__scope {
    ts_zone zone;
    __attribute__((always_inline)) explicit ts__scope(ts_site *site)
    {
        ts__zone_begin(&zone, site);
    }
    ts__scope(const char *name, ts_site *base)
    {
        ts__zone_begin_named(&zone, name, base);
    }
    __attribute__((always_inline)) ~ts__scope()
    {
        ts_zone_end(&zone);
    }
    ts__scope(const ts__scope &) = delete;
    ts__scope &operator=(const ts__scope &) = delete;
};
#define TS__SCOPE(var, begin, ...) ts__scope var(__VA_ARGS__)
#else
#define TS__SCOPE(var, begin, ...) \
    __attribute__((cleanup(ts_zone_end), unused)) ts_zone var; \
    begin(&var, __VA_ARGS__)
#endif

// `n` makes the names of a zone's variables unique, also within a line.
#define TS__ZONE(n, ...) \
    TS__SITE(TS__JOIN(ts__site_, n), __VA_ARGS__); \
    TS__SCOPE(TS__JOIN(ts__zone_, n), ts__zone_begin, &TS__JOIN(ts__site_, n))
#define TS__ZONE_NAME(n, text) \
    TS__SITE(TS__JOIN(ts__site_, n), TS__NONE); \
    TS__SCOPE(TS__JOIN(ts__zone_, n), ts__zone_begin_named, text, \
              &TS__JOIN(ts__site_, n))
#define TS__WITH_SITE(call, ...) \
    do { \
        TS__SITE(ts__site, __VA_ARGS__); \
        call; \
    } while (0)
#define TS__SKIP_NAME(...) TS__SKIP_NAME3(__VA_ARGS__, 0, 0, 0)
#define TS__SKIP_NAME3(name, category, color, ...) \
    (TS__SKIP(name), TS__SKIP(category), TS__SKIP(color))

#define TS_ZONE(...) \
    TS__IF_ON(TS__ZONE(__COUNTER__, __VA_ARGS__), TS__SKIP_NAME(__VA_ARGS__))
#define TS_FUNCTION() TS__IF_ON(TS__ZONE(__COUNTER__, TS__NONE), TS__SKIP(0))
#define TS_ZONE_NAME(text) \
    TS__IF_ON(TS__ZONE_NAME(__COUNTER__, text), TS__SKIP(text))
#define TS_ZONE_BEGIN(var, ...) \
    TS__IF_ON(TS__SITE(TS__JOIN(ts__site_, var), __VA_ARGS__); \
              ts_zone var = ts_zone_begin(&TS__JOIN(ts__site_, var)), \
              TS__SKIP_NAME(__VA_ARGS__))
#define TS_ZONE_END(var) TS__IF_ON(ts_zone_end(&var), ((void)0))
#define TS_ZONE_VALUE(name, number) \
    TS__IF_ON(TS__NUMBER(ts_zone_value, name, number), \
              (TS__SKIP(name), TS__SKIP(number)))
#define TS_ZONE_TEXT(text) TS__IF_ON(ts_zone_text(text), TS__SKIP(text))
#define TS_MARK(...) \
    TS__IF_ON(TS__WITH_SITE(ts_mark(&ts__site), __VA_ARGS__), \
              TS__SKIP_NAME(__VA_ARGS__))
#define TS_MESSAGE(text) TS__IF_ON(ts_message(text), TS__SKIP(text))
#define TS_COUNTER(name, number) \
    TS__IF_ON(TS__COUNTER(name, number), (TS__SKIP(name), TS__SKIP(number)))
#define TS__COUNTER(name, number) \
    do { \
        static ts_counter ts__counter_ = { name, 0 }; \
        TS__NUMBER(ts_counter, &ts__counter_, number); \
    } while (0)
#define TS_ALLOC(ptr, ...) \
    TS__IF_ON(TS__ALLOC(ptr, __VA_ARGS__, TS__NONE, TS__NONE, 0), \
              (TS__SKIP(ptr), TS__SKIP_NAME(__VA_ARGS__)))
#define TS__ALLOC(ptr, size, pool, category, ...) \
    do { \
        static uint32_t ts__pool = 0, ts__category = 0; \
        if (TS__LOAD(&ts__here.gate)) \
            ts_alloc(ptr, size, ts__name_once(&ts__pool, pool), \
                     ts__name_once(&ts__category, category)); \
    } while (0)
#define TS_FREE(...) \
    TS__IF_ON(TS__FREE(__VA_ARGS__, TS__NONE, 0), TS__SKIP_NAME(__VA_ARGS__))
#define TS__FREE(ptr, pool, ...) \
    do { \
        static uint32_t ts__pool = 0; \
        if (TS__LOAD(&ts__here.gate)) \
            ts_free(ptr, ts__name_once(&ts__pool, pool)); \
    } while (0)
#define TS_FRAME(...) \
    TS__IF_ON(TS__WITH_SITE(ts_frame(&ts__site), __VA_ARGS__), \
              TS__SKIP_NAME(__VA_ARGS__))
#define TS_FLOW_START(id) TS__IF_ON(ts_flow(id, TS_PHASE_START), TS__SKIP(id))
#define TS_FLOW_STEP(id)  TS__IF_ON(ts_flow(id, TS_PHASE_STEP), TS__SKIP(id))
#define TS_FLOW_END(id)   TS__IF_ON(ts_flow(id, TS_PHASE_END), TS__SKIP(id))
#define TS_SPAN_START(id, ...) \
    TS__IF_ON(TS__WITH_SITE(ts_span_start(id, &ts__site), __VA_ARGS__), \
              (TS__SKIP(id), TS__SKIP_NAME(__VA_ARGS__)))
#define TS_SPAN_END(id)      TS__IF_ON(ts_span_end(id), TS__SKIP(id))
#define TS_THREAD_NAME(text) TS__IF_ON(ts_thread_name(text), TS__SKIP(text))

// The name of a literal, looked up once for each place.
static inline uint32_t ts__name_once(uint32_t *known, const char *text)
{
    if (!text) return 0;
    uint32_t name = TS__CODE(known);
    if (TS__UNLIKELY(!name)) {
        name = ts_name_define(text);
        __atomic_store_n(known, name, __ATOMIC_RELEASE);
    }
    return name;
}

// Calls PREFIX_int, PREFIX_uint or PREFIX_double by the type of number.
static inline void ts_zone_value_uint(const char *name, uint64_t value)
{
    if (value > INT64_MAX)
        ts_zone_value_double(name, TS__AS(double, value));
    else
        ts_zone_value_int(name, TS__AS(int64_t, value));
}
#ifdef __cplusplus
extern "C++" {
#define TS__OVERLOAD(type, kind, as) \
    static inline void ts_zone_value(const char *name, type value) \
    { \
        ts_zone_value_##kind(name, as); \
    } \
    static inline void ts_counter_sample(ts_counter *counter, type value) \
    { \
        ts_counter_##kind(counter, as); \
    }
TS__OVERLOAD(bool, int, value)
TS__OVERLOAD(char, int, value)
TS__OVERLOAD(signed char, int, value)
TS__OVERLOAD(unsigned char, int, value)
TS__OVERLOAD(short, int, value)
TS__OVERLOAD(unsigned short, int, value)
TS__OVERLOAD(int, int, value)
TS__OVERLOAD(unsigned int, int, value)
TS__OVERLOAD(long, int, value)
TS__OVERLOAD(unsigned long, uint, value)
TS__OVERLOAD(long long, int, value)
TS__OVERLOAD(unsigned long long, uint, value)
TS__OVERLOAD(float, double, value)
TS__OVERLOAD(double, double, value)
TS__OVERLOAD(long double, double, static_cast<double>(value))
#undef TS__OVERLOAD
}
#define TS__NUMBER(prefix, a, number)          TS__NUMBER_##prefix(a, number)
#define TS__NUMBER_ts_zone_value(name, number) ts_zone_value(name, number)
#define TS__NUMBER_ts_counter(counter, number) \
    ts_counter_sample(counter, number)
#else
#define TS__NUMBER(prefix, first, number) \
    _Generic((number), float \
             : prefix##_double, double \
             : prefix##_double, unsigned long \
             : prefix##_uint, unsigned long long \
             : prefix##_uint, default \
             : prefix##_int)(first, number)
#endif
