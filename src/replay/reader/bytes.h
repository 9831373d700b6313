/* ---- Reader: vectors ---------------------------------------------------- */

// Loops that decode have a form in plain C, which is the whole truth, and some
// of them one for AVX2, which is chosen at run time and gives the same numbers.
#if defined(__x86_64__) && defined(__GNUC__)
#define TS__AVX2
static bool ts__has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}

__attribute__((target("avx2"))) static inline __m256i
ts__load_avx2(const void *from)
{
    return _mm256_loadu_si256((const __m256i *)from);
}

__attribute__((target("avx2"))) static inline void ts__store_avx2(void *to,
                                                                  __m256i four)
{
    _mm256_storeu_si256((__m256i *)to, four);
}

__attribute__((target("avx2"))) static inline __m256i ts__all_avx2(uint64_t one)
{
    return _mm256_set1_epi64x((long long)one);
}
#endif

/* ---- Reader: bytes of the trace ----------------------------------------- */

static const ts__fault ts__truncated = { TS_ERR_TRUNCATED,
                                         "the file ends inside a chunk" };
static const ts__fault ts__unreadable = { TS_ERR_IO, "reading failed" };

/*
    A file is read into private memory and never mapped. Other processes may
    change or truncate it meanwhile; access to a truncated page of a mapping
    would kill this process. Checks apply to the private copy, which cannot
    change.
*/
static ts__fault ts__read_at(const ts_reader *reader, uint64_t offset, void *to,
                             size_t size)
{
    uint8_t *const bytes = to;
    if (reader->bytes) {
        memcpy(bytes, reader->bytes + offset, size);
        return ts__no_fault;
    }
    for (size_t have = 0; have < size;) {
        const int64_t got = reader->desc.read(reader->desc.user, offset + have,
                                              bytes + have, size - have);
        if (got < 0 || (uint64_t)got > size - have) return ts__unreadable;
        if (!got) return ts__truncated;
        have += (size_t)got;
    }
    return ts__no_fault;
}

// Updates the size of the trace. False if it is unchanged, or smaller than what
// was already read: chunks that were read are kept.
static bool ts__reader_grow(ts_reader *reader)
{
    if (reader->bytes || !reader->desc.length) return false;
    const uint64_t size = reader->desc.length(reader->desc.user);
    if (size == reader->size || size < reader->resume) return false;
    reader->size = size;
    return true;
}
