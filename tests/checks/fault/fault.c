/*
    fault.c - calls of libc that fail as ordered; preloaded into session.c

    FAULT="NAME[,NAME...] ERRNO N once|always|short": between fault_begin and
    fault_end the N-th call of these functions, all counted together, fails
    with that errno, and with `always` each one after it. `short` transfers
    only half from the N-th call on, and fails nothing. Without FAULT calls are
    only counted.
*/
#define _FILE_OFFSET_BITS 64 // the names that tracesmith.h calls: open64
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define FUNCTIONS(X) \
    X(open) \
    X(close) \
    X(read) \
    X(pread) \
    X(write) \
    X(pwrite) \
    X(fstat) \
    X(fstatat) \
    X(stat) \
    X(statfs) \
    X(fstatfs) \
    X(readlink) \
    X(realpath) \
    X(ftruncate) \
    X(fallocate) \
    X(posix_fallocate) \
    X(fcntl) \
    X(unlink) \
    X(unlinkat) \
    X(rename) \
    X(symlink) \
    X(symlinkat) \
    X(mmap) \
    X(munmap) \
    X(mremap) \
    X(madvise) \
    X(pthread_create) \
    X(pthread_key_create) \
    X(ZSTD_createCCtx) \
    X(ZSTD_compressStream2) \
    X(malloc) \
    X(calloc) \
    X(realloc)

enum {
#define X(name) FAULT_##name,
    FUNCTIONS(X)
#undef X
        FAULTS
};

static const char *const names[] = {
#define X(name) #name,
    FUNCTIONS(X)
#undef X
};

typedef enum fault_mode { ONCE, ALWAYS, SHORT } fault_mode;

static bool counting;
static bool chosen[FAULTS];
static uint32_t calls[FAULTS], seen;
static uint32_t nth;
static int error;
static fault_mode mode;

// Counts a call; whether it is one of those that were ordered.
static bool hit(int function)
{
    if (!__atomic_load_n(&counting, __ATOMIC_RELAXED)) return false;
    __atomic_fetch_add(&calls[function], 1, __ATOMIC_RELAXED);
    if (!chosen[function]) return false;
    const uint32_t n = __atomic_add_fetch(&seen, 1, __ATOMIC_RELAXED);
    return mode == ONCE ? n == nth : n >= nth;
}

static bool fails(int function)
{
    if (!hit(function) || mode == SHORT) return false;
    errno = error;
    return true;
}

static size_t less(int function, size_t size)
{
    return hit(function) && size > 1 ? size / 2 : size;
}

typedef void (*function)(void);

// The function of libc itself.
static function real(int which)
{
    static function found[FAULTS];
    function at = __atomic_load_n(&found[which], __ATOMIC_RELAXED);
    if (at) return at;
    void *const symbol = dlsym(RTLD_NEXT, names[which]);
    memcpy(&at, &symbol, sizeof at);
    __atomic_store_n(&found[which], at, __ATOMIC_RELAXED);
    return at;
}

__attribute__((constructor)) static void find_all(void)
{
    for (int i = 0; i < FAULTS; i++)
        real(i);
}

static void choose(char *list)
{
    char *rest = NULL;
    for (char *name = strtok_r(list, ",", &rest); name;
         name = strtok_r(NULL, ",", &rest))
        for (int i = 0; i < FAULTS; i++)
            if (!strcmp(name, names[i])) chosen[i] = true;
}

void fault_begin(void);
void fault_end(void);

void fault_begin(void)
{
    char list[256], how[16];
    const char *const order = getenv("FAULT");
    if (order &&
        sscanf(order, "%255s %d %u %15s", list, &error, &nth, how) == 4) {
        choose(list);
        mode = *how == 's' ? SHORT : *how == 'a' ? ALWAYS : ONCE;
    }
    __atomic_store_n(&counting, true, __ATOMIC_RELAXED);
}

// Prints how often each function was called.
void fault_end(void)
{
    __atomic_store_n(&counting, false, __ATOMIC_RELAXED);
    for (int i = 0; i < FAULTS; i++)
        printf("calls %s %u\n", names[i], calls[i]);
}

#define REAL(name, type) ((type)real(FAULT_##name))

int open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    const mode_t rights = flags & O_CREAT ? va_arg(list, mode_t) : 0;
    va_end(list);
    if (fails(FAULT_open)) return -1;
    return REAL(open, int (*)(const char *, int, ...))(path, flags, rights);
}

// Linux closes a descriptor also where it says that it could not.
int close(int fd)
{
    const int result = REAL(close, int (*)(int))(fd);
    return fails(FAULT_close) ? -1 : result;
}

ssize_t read(int fd, void *bytes, size_t size)
{
    if (mode == SHORT)
        size = less(FAULT_read, size);
    else if (fails(FAULT_read))
        return -1;
    return REAL(read, ssize_t(*)(int, void *, size_t))(fd, bytes, size);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t offset)
{
    if (mode == SHORT)
        size = less(FAULT_pread, size);
    else if (fails(FAULT_pread))
        return -1;
    return REAL(pread, ssize_t(*)(int, void *, size_t, off_t))(fd, bytes, size,
                                                               offset);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    if (mode == SHORT)
        size = less(FAULT_write, size);
    else if (fails(FAULT_write))
        return -1;
    return REAL(write, ssize_t(*)(int, const void *, size_t))(fd, bytes, size);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    if (mode == SHORT)
        size = less(FAULT_pwrite, size);
    else if (fails(FAULT_pwrite))
        return -1;
    return REAL(pwrite, ssize_t(*)(int, const void *, size_t, off_t))(
        fd, bytes, size, offset);
}

int fstat(int fd, struct stat *st)
{
    if (fails(FAULT_fstat)) return -1;
    return REAL(fstat, int (*)(int, struct stat *))(fd, st);
}

int fstatat(int folder, const char *path, struct stat *st, int flags)
{
    if (fails(FAULT_fstatat)) return -1;
    return REAL(fstatat, int (*)(int, const char *, struct stat *, int))(
        folder, path, st, flags);
}

int stat(const char *path, struct stat *st)
{
    if (fails(FAULT_stat)) return -1;
    return REAL(stat, int (*)(const char *, struct stat *))(path, st);
}

int statfs(const char *path, struct statfs *fs)
{
    if (fails(FAULT_statfs)) return -1;
    return REAL(statfs, int (*)(const char *, struct statfs *))(path, fs);
}

int fstatfs(int fd, struct statfs *fs)
{
    if (fails(FAULT_fstatfs)) return -1;
    return REAL(fstatfs, int (*)(int, struct statfs *))(fd, fs);
}

ssize_t readlink(const char *path, char *to, size_t size)
{
    if (fails(FAULT_readlink)) return -1;
    return REAL(readlink, ssize_t(*)(const char *, char *, size_t))(path, to,
                                                                    size);
}

char *realpath(const char *path, char *to)
{
    if (fails(FAULT_realpath)) return NULL;
    return REAL(realpath, char *(*)(const char *, char *))(path, to);
}

int ftruncate(int fd, off_t size)
{
    if (fails(FAULT_ftruncate)) return -1;
    return REAL(ftruncate, int (*)(int, off_t))(fd, size);
}

int fallocate(int fd, int how, off_t offset, off_t size)
{
    if (fails(FAULT_fallocate)) return -1;
    return REAL(fallocate, int (*)(int, int, off_t, off_t))(fd, how, offset,
                                                            size);
}

// Returns its error, and leaves errno alone.
int posix_fallocate(int fd, off_t offset, off_t size)
{
    const int kept = errno;
    if (fails(FAULT_posix_fallocate)) {
        errno = kept;
        return error;
    }
    return REAL(posix_fallocate, int (*)(int, off_t, off_t))(fd, offset, size);
}

int fcntl(int fd, int what, ...)
{
    va_list list;
    va_start(list, what);
    void *const more = va_arg(list, void *);
    va_end(list);
    if (fails(FAULT_fcntl)) return -1;
    return REAL(fcntl, int (*)(int, int, ...))(fd, what, more);
}

int unlink(const char *path)
{
    if (fails(FAULT_unlink)) return -1;
    return REAL(unlink, int (*)(const char *))(path);
}

int unlinkat(int folder, const char *path, int flags)
{
    if (fails(FAULT_unlinkat)) return -1;
    return REAL(unlinkat, int (*)(int, const char *, int))(folder, path, flags);
}

int rename(const char *from, const char *to)
{
    if (fails(FAULT_rename)) return -1;
    return REAL(rename, int (*)(const char *, const char *))(from, to);
}

int symlink(const char *target, const char *path)
{
    if (fails(FAULT_symlink)) return -1;
    return REAL(symlink, int (*)(const char *, const char *))(target, path);
}

int symlinkat(const char *target, int folder, const char *path)
{
    if (fails(FAULT_symlinkat)) return -1;
    return REAL(symlinkat,
                int (*)(const char *, int, const char *))(target, folder, path);
}

void *mmap(void *at, size_t size, int rights, int flags, int fd, off_t offset)
{
    if (fails(FAULT_mmap)) return MAP_FAILED;
    return REAL(mmap, void *(*)(void *, size_t, int, int, int, off_t))(
        at, size, rights, flags, fd, offset);
}

// What is not unmapped stays, and is used no more.
int munmap(void *at, size_t size)
{
    if (fails(FAULT_munmap)) return -1;
    return REAL(munmap, int (*)(void *, size_t))(at, size);
}

void *mremap(void *old, size_t old_size, size_t size, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    void *const at = flags & MREMAP_FIXED ? va_arg(list, void *) : NULL;
    va_end(list);
    if (fails(FAULT_mremap)) return MAP_FAILED;
    return REAL(mremap, void *(*)(void *, size_t, size_t, int, ...))(
        old, old_size, size, flags, at);
}

int madvise(void *at, size_t size, int advice)
{
    if (fails(FAULT_madvise)) return -1;
    return REAL(madvise, int (*)(void *, size_t, int))(at, size, advice);
}

// Returns its error.
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*body)(void *), void *user)
{
    if (fails(FAULT_pthread_create)) return error;
    return REAL(pthread_create,
                int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                        void *))(thread, attributes, body, user);
}

int pthread_key_create(pthread_key_t *key, void (*end)(void *))
{
    if (fails(FAULT_pthread_key_create)) return error;
    return REAL(pthread_key_create,
                int (*)(pthread_key_t *, void (*)(void *)))(key, end);
}

// Of libzstd, which has no errno: its results are sizes, the highest errors.
void *ZSTD_createCCtx(void);
void *ZSTD_createCCtx(void)
{
    if (fails(FAULT_ZSTD_createCCtx)) return NULL;
    return REAL(ZSTD_createCCtx, void *(*)(void))();
}

size_t ZSTD_compressStream2(void *context, void *out, void *in, int end);
size_t ZSTD_compressStream2(void *context, void *out, void *in, int end)
{
    if (fails(FAULT_ZSTD_compressStream2)) return (size_t)-1;
    return REAL(ZSTD_compressStream2,
                size_t(*)(void *, void *, void *, int))(context, out, in, end);
}

// dlsym itself allocates: glibc has these names for that.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
    return fails(FAULT_malloc) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(FAULT_calloc) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails(FAULT_realloc) ? NULL : __libc_realloc(old, size);
}
