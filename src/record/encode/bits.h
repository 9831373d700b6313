/* ---- Encoder: packed bits ----------------------------------------------- */

/*
    The encoder turns the records of a ring into chunks in encoder->out. Their
    headers lack session, sequence and checksum, which the writer fills in.
*/
typedef struct ts__batch {
    uint64_t from, to;    // positions
    uint32_t track;       // of its records
    uint32_t next;        // track of the records after it
    uint32_t zones;       // rows in columns 0 to 2
    uint64_t events;      // bits: the other kinds of events in it
    uint64_t stale, bad;  // records not taken
    uint64_t first, last; // of these
    bool sound;           // every slot from `from` to `to` was found good
} ts__batch;

static uint64_t ts__bits(uint64_t value) // that it takes to store it
{
    return value ? 64 - (uint64_t)__builtin_clzll(value) : 0;
}

static uint64_t ts__zigzag(uint64_t d)
{
    return d << 1 ^ (0 - (d >> 63));
}

// The tick of a record whose low 56 bits are known, within 2^55 of `near`:
// five months of a 3 GHz counter.
static uint64_t ts__tick_full(uint64_t near, uint64_t low)
{
    return near + (uint64_t)((int64_t)((low - near) << 8) >> 8);
}

static void ts__put_u64(uint8_t *p, uint64_t value)
{
    memcpy(p, &value, sizeof value);
}

typedef struct ts__bit_writer {
    uint8_t *out;
    uint64_t word; // of which `used` bits are taken
    uint32_t used;
} ts__bit_writer;

static inline void ts__bits_put(ts__bit_writer *w, uint64_t value,
                                uint32_t width)
{
    w->word |= value << w->used;
    w->used += width;
    if (w->used < 64) return;
    ts__put_u64(w->out, w->word);
    w->out += 8;
    w->used -= 64;
    w->word = w->used ? value >> (width - w->used) : 0;
}

// Packs the differences of `count` values, at most 64, from `base`; returns the
// end of the output. Packs narrow ones four at a time, because the dependency
// through `word` is what takes time.
static uint8_t *ts__pack_block(uint8_t *out, const uint64_t *v, uint64_t base,
                               size_t count, uint32_t width)
{
    ts__bit_writer w = { out, 0, 0 };
    size_t i = 0;
    if (!width) return out;
    for (; width <= 16 && i + 4 <= count; i += 4) {
        const uint64_t low = (v[i] - base) | (v[i + 1] - base) << width;
        const uint64_t high = (v[i + 2] - base) | (v[i + 3] - base) << width;
        ts__bits_put(&w, low | high << 2 * width, 4 * width);
    }
    for (; i < count; i++)
        ts__bits_put(&w, v[i] - base, width);
    if (w.used) {
        ts__put_u64(w.out, w.word);
        w.out += 8;
    }
    return w.out;
}

// All bits that the differences of `count` values from `base` need. Several
// independent sums run in parallel, where one would be a chain.
static uint64_t ts__any_bits(const uint64_t *v, uint64_t base, size_t count)
{
    uint64_t a = 0, b = 0, c = 0, d = 0;
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        a |= v[i] - base;
        b |= v[i + 1] - base;
        c |= v[i + 2] - base;
        d |= v[i + 3] - base;
    }
    for (; i < count; i++)
        a |= v[i] - base;
    return a | b | c | d;
}

typedef struct ts__range {
    uint64_t smallest, largest;
} ts__range;

static ts__range ts__range_of(const uint64_t *v, size_t count)
{
    ts__range a = { v[0], v[0] }, b = a;
    size_t i = count & 1;
    for (; i < count; i += 2) {
        if (v[i] < a.smallest) a.smallest = v[i];
        if (v[i] > a.largest) a.largest = v[i];
        if (v[i + 1] < b.smallest) b.smallest = v[i + 1];
        if (v[i + 1] > b.largest) b.largest = v[i + 1];
    }
    if (b.smallest < a.smallest) a.smallest = b.smallest;
    if (b.largest > a.largest) a.largest = b.largest;
    return a;
}

static uint8_t *ts__pack(uint8_t *out, const uint64_t *v, uint64_t base,
                         uint32_t count)
{
    const uint32_t blocks = (count + 63) / 64;
    uint8_t *const widths = out;
    memset(widths, 0, (blocks + 7u) & ~7u);
    out += (blocks + 7u) & ~7u;
    for (uint32_t i = 0; i < blocks; i++) {
        const uint32_t n = count - i * 64 < 64 ? count - i * 64 : 64;
        const uint64_t any = ts__any_bits(v + i * 64, base, n);
        widths[i] = (uint8_t)ts__bits(any);
        out = ts__pack_block(out, v + i * 64, base, n, widths[i]);
    }
    return out;
}

// Whether this encoder compresses; false in a build without zstd.
static bool ts__compresses(const ts__encoder *e)
{
#ifdef TRACESMITH_ZSTD
    return e->compress != 0;
#else
    (void)e;
    return false;
#endif
}

// Writes values as byte planes, which compress better than packed bits.
static uint8_t *ts__planes(uint8_t *out, const uint64_t *v, uint64_t base,
                           uint32_t count, uint32_t width)
{
    for (uint32_t p = 0; p < width; p++)
        for (uint32_t i = 0; i < count; i++)
            *out++ = (uint8_t)((v[i] - base) >> 8 * p);
    while ((uintptr_t)out & 7)
        *out++ = 0;
    return out;
}

// Number of bits that packing takes, to compare two transforms.
static uint64_t ts__pack_cost(const uint64_t *v, uint64_t base, uint32_t count)
{
    uint64_t cost = 0;
    for (uint32_t i = 0; i < count; i += 64)
        cost += ts__bits(
            ts__any_bits(v + i, base, count - i < 64 ? count - i : 64));
    return cost;
}

// The same for byte planes, whose cost depends on how much the values vary:
// estimated by their distances from the mean.
static uint64_t ts__plane_cost(const uint64_t *v, uint64_t base, uint32_t count)
{
    uint64_t sum = 0, cost = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += v[i] - base;
    base += sum / count;
    for (uint32_t i = 0; i < count; i++)
        cost += ts__bits(ts__zigzag(v[i] - base));
    return cost;
}
