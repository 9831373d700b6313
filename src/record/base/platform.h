/* ---- Platform: everything that is Linux --------------------------------- */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
// Optimised for size, too: on long chunks this costs 5 % of the speed.
TS__SMALL_BEGIN
#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

static __attribute__((noinline)) uint64_t
ts__checksum(const void *bytes, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, size, seed); // seed 0: XXH3_64bits
}
TS__SMALL_END
#ifdef TRACESMITH_ZSTD
#include <zstd.h>
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 // Linux 5.14
#endif

TS__SMALL_BEGIN

static uint64_t ts__clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// The kind of clock 0, and whether ts__tick must take the slow way.
static uint8_t ts__tick_type(void)
{
#if defined(TRACESMITH_TICK)
    return TS_CLOCK_OTHER;
#elif defined(__x86_64__) || defined(__i386__)
    // Intel SDM volume 3, "Invariant TSC": CPUID 80000007H, EDX bit 8.
    uint32_t a, b, c, d;
    const bool known = __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0;
    return known && (d >> 8 & 1) ? TS_CLOCK_TSC : TS_CLOCK_MONOTONIC_RAW;
#elif defined(__aarch64__)
    return TS_CLOCK_CNTVCT;
#else
    return TS_CLOCK_MONOTONIC_RAW;
#endif
}

static void ts__futex_wait(uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
    struct timespec t;
    t.tv_sec = (time_t)(timeout_ns / 1000000000u);
    t.tv_nsec = (long)(timeout_ns % 1000000000u);
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &t, NULL, 0);
}

static void ts__futex_wake(uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

// Changes a futex word and wakes those who wait for a change.
static void ts__futex_bump(uint32_t *word)
{
    __atomic_fetch_add(word, 1, __ATOMIC_RELEASE);
    ts__futex_wake(word);
}

// A mutex that a child made by fork may simply reset: 0 free, 1 held, 2
// contended. This is safe because every holder has signals blocked (ts__enter).
typedef struct ts__lock {
    uint32_t word;
} ts__lock;

static bool ts__lock_try(ts__lock *lock)
{
    uint32_t expected = 0;
    return __atomic_compare_exchange_n(&lock->word, &expected, 1, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void ts__lock_take(ts__lock *lock)
{
    if (ts__lock_try(lock)) return;
    while (__atomic_exchange_n(&lock->word, 2, __ATOMIC_ACQUIRE) != 0)
        ts__futex_wait(&lock->word, 2, 100000000u);
}

static void ts__lock_give(ts__lock *lock)
{
    if (__atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE) == 2)
        ts__futex_wake(&lock->word);
}

// New private memory, filled with zeros; NULL on failure.
static void *ts__pages_new(size_t size)
{
    void *const p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

// Replaces shared memory by private memory at the same address and copies the
// first `keep` bytes. If there is no memory, it remains shared.
static bool ts__own_memory(void *memory, size_t keep, size_t size)
{
    void *const own = ts__pages_new(size);
    if (!own) return false;
    memcpy(own, memory, keep);
    return mremap(own, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, memory) ==
           memory;
}

static size_t ts__page_round(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) & ~(page - 1);
}

// The session's result for the last failed system call (errno).
static ts_result ts__disk_error(ts_result otherwise)
{
    return errno == ENOSPC || errno == EDQUOT || errno == EFBIG
               ? TS_ERR_DISK_FULL
               : otherwise;
}

// Whether a file may grow to a size. Beyond RLIMIT_FSIZE the app would get
// SIGXFSZ, which ends it.
static bool ts__file_may_grow(uint64_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 ||
           limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

// Maps a part of a file as shared memory with its pages present and its disk
// blocks reserved: touching a hole on a full disk would raise SIGBUS. Returns
// NULL and sets errno on failure.
static void *ts__pages_map(int fd, uint64_t offset, size_t size)
{
    int error;
    if (!ts__file_may_grow(offset + size)) {
        errno = ENOSPC;
        return NULL;
    }
    do
        error = posix_fallocate(fd, (off_t)offset, (off_t)size);
    while (error == EINTR);
    if (error) {
        errno = error;
        return NULL;
    }
    void *const p =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    if (p == MAP_FAILED) { // give the blocks back
        error = errno;
        const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
        if (fallocate(fd, mode, (off_t)offset, (off_t)size) != 0) error = errno;
        errno = error;
        return NULL;
    }
    if (madvise(p, size, MADV_POPULATE_WRITE) != 0)
        for (size_t i = 0; i < size; i += 4096)
            __atomic_fetch_add((uint8_t *)p + i, 0, __ATOMIC_RELAXED);
    return p;
}

// Writes all bytes or none: on failure the file is truncated to `offset`.
static ts_result ts__file_write(int fd, uint64_t offset, const void *bytes,
                                size_t size)
{
    if (!ts__file_may_grow(offset + size)) return TS_ERR_DISK_FULL;
    size_t done = 0;
    while (done < size) {
        const ssize_t n = pwrite(fd, (const uint8_t *)bytes + done, size - done,
                                 (off_t)(offset + done));
        if (n > 0) {
            done += (size_t)n;
            continue;
        }
        if (n < 0 && errno == EINTR) continue;
        const ts_result result =
            n == 0 ? TS_ERR_DISK_FULL : ts__disk_error(TS_ERR_IO);
        // An error here leaves a torn chunk, which readers skip.
        return ftruncate(fd, (off_t)offset) == 0 ? result : TS_ERR_IO;
    }
    return TS_OK;
}

/*
    Our file in a program that may close descriptors it did not open, as daemons
    do, so that the number may now mean another file. Such a file is neither
    written to nor closed.
*/
typedef struct ts__file {
    int fd; // -1: none
    dev_t device;
    ino_t inode;
} ts__file;

// Opens a file above the standard streams. Like open(2) on failure.
static int ts__file_open(ts__file *file, const char *path, int flags,
                         mode_t mode)
{
    struct stat st;
    int fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode);
    if (fd >= 0 && fd < 3) {
        const int low = fd;
        fd = fcntl(low, F_DUPFD_CLOEXEC, 3);
        close(low);
    }
    file->fd = fd;
    if (fd < 0) return -1;
    if (fstat(fd, &st) != 0) {
        if (flags & O_EXCL) unlink(path); // this call created it
        close(fd);
        return file->fd = -1;
    }
    file->device = st.st_dev;
    file->inode = st.st_ino;
    return fd;
}

static bool ts__file_is(const ts__file *file, int fd)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == file->device &&
           st.st_ino == file->inode;
}

// Whether the descriptor is still our file, or can be opened again by its path.
static bool ts__file_keep(ts__file *file, const char *path)
{
    if (ts__file_is(file, file->fd)) return true;
    ts__file again;
    if (ts__file_open(&again, path, O_RDWR, 0) < 0) return false;
    if (again.device == file->device && again.inode == file->inode) {
        file->fd = again.fd;
        return true;
    }
    close(again.fd);
    return false;
}

static void ts__file_close(ts__file *file)
{
    if (ts__file_is(file, file->fd)) close(file->fd);
    file->fd = -1;
}

static bool ts__file_read(int fd, uint64_t offset, void *bytes, size_t size)
{
    return pread(fd, bytes, size, (off_t)offset) == (ssize_t)size;
}

// Takes the lock which shows that the sidecar's writer is alive. The lock
// belongs to the open file description, so that a reader in the same process
// does not release it.
static bool ts__file_lock(int fd)
{
    struct flock lock;
    memset(&lock, 0, sizeof lock);
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

// A hash for our own tables: short code, and fast for a few words.
static uint64_t ts__mix(const void *bytes, size_t size, uint64_t seed)
{
    const uint8_t *p = (const uint8_t *)bytes;
    uint64_t hash = seed + size, word;
    for (; size >= 8; size -= 8, p += 8) {
        memcpy(&word, p, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u; // 2^64 / golden ratio
        hash ^= hash >> 32;
    }
    for (word = 0; size; size--)
        word = word << 8 | *p++;
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
}

// Reads the beginning of a file as text and returns its size, 0 if there is
// nothing.
static size_t ts__text_read(const char *path, char *text, size_t room)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, text, room - 1) : 0;
    if (fd >= 0) close(fd);
    const size_t size = n > 0 ? (size_t)n : 0;
    text[size] = 0;
    return size;
}

// Two words that identify a trace: random ones from the kernel or, if it gives
// none, made from the time and the process.
static void ts__random(void *words)
{
    const uint64_t process = (uint64_t)getpid() << 32;
    const uint64_t now[] = { ts__clock_ns(CLOCK_REALTIME),
                             ts__clock_ns(CLOCK_MONOTONIC_RAW) ^ process };
    memcpy(words, now, sizeof now);
    syscall(SYS_getrandom, words, sizeof now, 1 /* GRND_NONBLOCK */);
}
