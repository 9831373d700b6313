/* ==== Hot path =========================================================== */

/*
    Everything an instrumented line executes while recording is here, inline.
    A ring is a power of two of 16-byte slots in a shared file mapping:

        a: tick << 8 | lap << 1 | 0      first slot of a record
        b: kind (6 bits) | ...           by kind
        then, for longer records, slots of 15 bytes of payload behind a byte
        lap << 1 | 1

    `lap` counts how often the ring has wrapped around, modulo 128, so that a
    slot shows whether it was written in the present lap. Storing `a`, which
    comes last, publishes the record.

    The slot is reserved by one instruction: a signal handler that records
    between any two instructions here gets slots of its own, and nothing is
    lost. `limit` leaves TS__RING_MARGIN slots free for what such handlers
    reserve between our check and our reservation.
*/
typedef struct ts__slot {
    uint64_t a, b;
} ts__slot;

#define TS__OPEN_MAX 256 // deeper zones are recorded as well
// An open zone. Those of a ring are spread over two arrays of eight bytes for
// each zone, which processors can index without a multiplication.
typedef struct ts__open {
    uint64_t start;
    uint64_t others[TS__OPEN_MAX - 1];
    uint32_t code;  // low half of the zone's record
    uint32_t depth; // UINT32_MAX: under construction
} ts__open;

#define TS__RING_MARGIN 576

typedef struct ts__ring {
    // The producer's line. `gate` differs from ts__here's when the ring may
    // not be used: no session, or the thread has moved on to another ring.
    uint64_t head;  // next position
    uint64_t limit; // reserve only below it
    uint64_t mask;
    uint64_t lap; // 1 << (57 - shift): see ts__ring_tag
    uint32_t gate;
    uint32_t quick; // the same if the machine's counter is the clock, else 0
    uint32_t depth; // open zones
    uint32_t shift; // log2 of the slot count
    ts__slot *slots;
    uint64_t more; // slots reserved beyond the first one of a record
    uint64_t open[2 * TS__OPEN_MAX]; // see ts__ring_open
    // The consumer's line. Positions below tail are free again.
    uint64_t tail;
    uint64_t tail_end[7];
} ts__ring;

// Kinds of records, the low 6 bits of `b`.
enum {
    TS__REC_ZONE = 1,      // site << 6, duration << 32
    TS__REC_MARK = 2,      // site << 6
    TS__REC_COUNTER = 3,   // counter << 6, int32 value << 32
    TS__REC_COUNTER64 = 4, // counter << 6; payload: i64 value
    TS__REC_COUNTERF = 5,  // counter << 6; payload: double value
    TS__REC_FREE = 6,      // address << 16
    TS__REC_ALLOC = 7,     // address << 16; payload: u56 size, u32 pool, site
    TS__REC_FRAME = 8,     // site << 6
    TS__REC_ROW = 9,       // event kind << 6, slots << 16, bytes << 32;
                           // payload: ts__row_put's
    TS__REC_THREAD = 10,   // track << 6: whose records follow
    TS__REC_KERNEL = 11,   // an ordinary kernel, see ts__kernel_put
    TS__REC_VALUE = 12,    // site << 6, name << 32, ts_value_type << 58;
                           // payload: u56 0, u64 value; `a`: the zone's start
    TS__REC_FLOW = 13      // ts_phase << 6, id << 16
};
#define TS__CODE_LIMIT (1u << 26) // sites and tracks that fit a record
// The low half of a zone's record: what a ts_site and a ts_zone have as `code`.
#define TS__ZONE_CODE(site) ((site) << 6 | TS__REC_ZONE)

#ifndef TS__PAGE_MOST // largest page of any kernel
#if defined(__x86_64__) || defined(__i386__)
#define TS__PAGE_MOST 4096
#else
#define TS__PAGE_MOST 65536
#endif
#endif
/*
    What decides whether this process may record. In a child the kernel replaces
    the page by zeros (MADV_WIPEONFORK), so that a child which runs no handlers
    of fork cannot write into its parent's rings.
*/
typedef struct ts__page {
    uint32_t gate;    // 0: not recording, else the session's number
    uint32_t session; // the same, also when paused
    uint32_t tick;    // ts_clock_type of clock 0
} __attribute__((aligned(TS__PAGE_MOST))) ts__page;

#define TS__TLS __thread __attribute__((tls_model("initial-exec")))
#ifdef TS__STATIC // otherwise base/platform.h defines it
static ts__ring ts__none;
static ts__page ts__here;
static TS__TLS ts__ring *ts__mine = &ts__none;
#else
TS_API ts__page ts__here;
TS_API TS__TLS ts__ring *ts__mine;
#endif

#ifdef __cplusplus
#define TS__AS(type, value) static_cast<type>(value)
#define TS__ADDRESS(p)      reinterpret_cast<uintptr_t>(p)
#define TS__NULL            nullptr
#else
#define TS__AS(type, value) ((type)(value))
#define TS__ADDRESS(p)      ((uintptr_t)(p))
#define TS__NULL            NULL
#endif
#define TS__COLD __attribute__((cold, nothrow))
// Where half a function in a call of its own would keep what it works on in
// memory.
#define TS__INLINE      static inline __attribute__((always_inline))
#define TS__LIKELY(x)   __builtin_expect(!!(x), 1)
#define TS__UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TS__LOAD(p)     __atomic_load_n(p, __ATOMIC_RELAXED)
#define TS__STORE(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
// acquire: a name's number is known after the name; pairs with the releases in
// ts__site_code, ts__counter_code and ts__name_once
#define TS__CODE(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)

TS_API uint64_t ts__tick_slow(void);

/*
    Comparisons with memory. The compilers load a word of which they were told
    that it is shared into a register first, which takes a register and makes
    the line longer.
*/
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && \
    defined(__GCC_ASM_FLAG_OUTPUTS__)
static inline bool ts__is(const uint32_t *p, uint32_t value)
{
    bool same;
    __asm__ volatile("cmpl %2, %1" : "=@cce"(same) : "m"(*p), "er"(value));
    return same;
}

static inline bool ts__below(uint64_t value, const uint64_t *limit)
{
    bool below;
    __asm__ volatile("cmpq %2, %1" : "=@ccb"(below) : "r"(value), "m"(*limit));
    return below;
}
#else
static inline bool ts__is(const uint32_t *p, uint32_t value)
{
    return TS__LOAD(p) == value;
}

static inline bool ts__below(uint64_t value, const uint64_t *limit)
{
    return value < TS__LOAD(limit);
}
#endif

// The machine's counter, whether or not it can be used.
#if defined(__x86_64__) || defined(__i386__)
#define TS__CLOCK_MACHINE TS_CLOCK_TSC
static inline uint64_t ts__tick_machine(void)
{
    // No fence: the order against neighbouring instructions is not worth
    // the 6 ns; see "Raw limits" in bench/README.md.
    return __builtin_ia32_rdtsc();
}
#elif defined(__aarch64__)
#define TS__CLOCK_MACHINE TS_CLOCK_CNTVCT
static inline uint64_t ts__tick_machine(void)
{
    uint64_t tick;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(tick));
    return tick;
}
#else
#define TS__CLOCK_MACHINE TS_CLOCK_MONOTONIC_RAW
static inline uint64_t ts__tick_machine(void)
{
    return ts__tick_slow();
}
#endif

// Whether ts__tick_machine is the clock; false in a child of fork whose page
// was wiped.
static inline bool ts__quick(void)
{
    return ts__is(&ts__here.tick, TS__CLOCK_MACHINE);
}

static inline uint64_t ts__tick(void)
{
#if defined(TRACESMITH_TICK)
    return TRACESMITH_TICK();
#else
    return TS__LIKELY(ts__quick()) ? ts__tick_machine() : ts__tick_slow();
#endif
}

// Reserves count slots. One instruction on x86, which a signal handler cannot
// interrupt half-way; not locked, because only this thread reserves here.
static inline uint64_t ts__ring_reserve(ts__ring *ring, uint64_t count)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__ volatile("xaddq %0, %1" : "+r"(count), "+m"(ring->head)::"cc");
    return count;
#else
    return __atomic_fetch_add(&ring->head, count, __ATOMIC_RELAXED);
#endif
}

// Where a ring keeps an open zone of a depth.
static inline ts__open *ts__ring_open(ts__ring *ring, uint32_t depth)
{
    void *const open = &ring->open[depth % TS__OPEN_MAX];
    return TS__AS(ts__open *, open);
}

// Counts one more open zone; before: how many there were.
static inline void ts__ring_deeper(ts__ring *ring, uint32_t before)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    (void)before;
    __asm__ volatile("incl %0" : "+m"(ring->depth)::"cc");
#else
    __atomic_store_n(&ring->depth, before + 1, __ATOMIC_RELEASE);
#endif
}

// Adds to ring->more, likewise indivisible for signal handlers.
static inline void ts__ring_count_more(ts__ring *ring, uint64_t count)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__ volatile("addq %1, %0" : "+m"(ring->more) : "r"(count) : "cc");
#else
    __atomic_fetch_add(&ring->more, count, __ATOMIC_RELAXED);
#endif
}

// The lap of a position, as slots have it: (position >> shift & 127) << 1.
static inline uint64_t ts__ring_tag(const ts__ring *ring, uint64_t position)
{
    return (position * ring->lap >> 57) << 1;
}

// Publishes a record of one slot at a reserved position.
static inline void ts__ring_publish(ts__ring *ring, uint64_t position,
                                    uint64_t tick, uint64_t b)
{
    ts__slot *const slot = &ring->slots[position & ring->mask];
    TS__STORE(&slot->b, b);
    // release: pairs with the acquire in ts__drain_ring
    __atomic_store_n(&slot->a, (tick << 8) + ts__ring_tag(ring, position),
                     __ATOMIC_RELEASE);
}

// Whether a ring has room for count slots, and some for signal handlers.
static inline bool ts__ring_has(const ts__ring *ring, uint32_t count)
{
    return ts__below(TS__LOAD(&ring->head) + (count - 1), &ring->limit);
}

// Whether count slots of a ring may be reserved in the session `gate` and be
// given times by the machine's counter.
static inline bool ts__ring_quick(const ts__ring *ring, uint32_t gate,
                                  uint32_t count)
{
    return ts__is(&ring->quick, gate) && ts__ring_has(ring, count);
}

// A record of one slot, now.
static inline void ts__ring_record(ts__ring *ring, uint64_t b)
{
    const uint64_t tick = ts__tick_machine();
    ts__ring_publish(ring, ts__ring_reserve(ring, 1), tick, b);
}

// The calling thread's ring with room for count slots, NULL if it must not
// record now or the record is lost (and counted).
TS_API ts__ring *ts__ring_room(uint32_t count);

static inline ts__ring *ts__ring_get(uint32_t count)
{
    const uint32_t gate = TS__LOAD(&ts__here.gate);
    if (!gate) return TS__NULL;
    ts__ring *const ring = ts__mine;
    if (TS__LIKELY(ts__is(&ring->gate, gate) && ts__ring_has(ring, count)))
        return ring;
    return ts__ring_room(count);
}
