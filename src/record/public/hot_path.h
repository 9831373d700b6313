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

typedef struct ts__open { // an open zone
    uint64_t start;
    uint64_t code_depth; // code | depth << 32
} ts__open;

#define TS__OPEN_MAX    256 // power of two; deeper zones are recorded as well
#define TS__RING_MARGIN 576

typedef struct ts__ring {
    // The producer's line. `gate` differs from ts__here's when the ring may
    // not be used: no session, or the thread has moved on to another ring.
    uint64_t head;  // next position
    uint64_t limit; // reserve only below it
    uint64_t mask;
    ts__slot *slots;
    uint32_t gate;
    uint32_t depth; // open zones
    uint32_t shift; // log2 of the slot count
    uint32_t unused;
    uint64_t more; // slots reserved beyond the first one of a record
    uint64_t line_end;
    // The consumer's line. Positions below tail are free again.
    uint64_t tail;
    uint64_t tail_end[7];
    ts__open open[TS__OPEN_MAX];
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
    TS__REC_KERNEL = 11    // an ordinary kernel, see ts__kernel_put
};
#define TS__CODE_LIMIT (1u << 26) // sites and tracks that fit a record

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
#define TS__LIKELY(x)   __builtin_expect(!!(x), 1)
#define TS__UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TS__LOAD(p)     __atomic_load_n(p, __ATOMIC_RELAXED)
#define TS__STORE(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
// acquire: a name's number is known after the name; pairs with the releases in
// ts__site_code, ts__counter_code and ts__name_once
#define TS__CODE(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)

TS_API uint64_t ts__tick_slow(void);

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
#endif

static inline uint64_t ts__tick(void)
{
#if defined(TRACESMITH_TICK)
    return TRACESMITH_TICK();
#elif defined(TS__CLOCK_MACHINE)
    const uint32_t type = TS__LOAD(&ts__here.tick);
    if (TS__UNLIKELY(type != TS__CLOCK_MACHINE)) return ts__tick_slow();
    return ts__tick_machine();
#else
    return ts__tick_slow();
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

// Adds to ring->more, likewise indivisible for signal handlers.
static inline void ts__ring_count_more(ts__ring *ring, uint64_t count)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__ volatile("addq %1, %0" : "+m"(ring->more) : "r"(count) : "cc");
#else
    __atomic_fetch_add(&ring->more, count, __ATOMIC_RELAXED);
#endif
}

static inline uint64_t ts__ring_tag(const ts__ring *ring, uint64_t position)
{
    return (position >> ring->shift & 127) << 1;
}

// Publishes a record of one slot at a reserved position.
static inline void ts__ring_publish(ts__ring *ring, uint64_t position,
                                    uint64_t tick, uint64_t b)
{
    ts__slot *const slot = &ring->slots[position & ring->mask];
    TS__STORE(&slot->b, b);
    // release: pairs with the acquire in ts__drain_ring
    __atomic_store_n(&slot->a, tick << 8 | ts__ring_tag(ring, position),
                     __ATOMIC_RELEASE);
}

// The calling thread's ring with room for count slots, NULL if it must not
// record now or the record is lost (and counted).
TS_API ts__ring *ts__ring_room(uint32_t count);

static inline ts__ring *ts__ring_get(uint32_t count)
{
    const uint32_t gate = TS__LOAD(&ts__here.gate);
    if (!gate) return TS__NULL;
    ts__ring *const ring = ts__mine;
    if (TS__UNLIKELY(TS__LOAD(&ring->gate) != gate ||
                     TS__LOAD(&ring->head) + count > TS__LOAD(&ring->limit)))
        return ts__ring_room(count);
    return ring;
}
