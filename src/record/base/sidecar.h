/* ---- Sidecars, for the recorder and for readers -------------------------- */

#if ((defined(TRACESMITH_IMPLEMENTATION) && !defined(TRACESMITH_DISABLE)) || \
     defined(TRACESMITH_REPLAY_IMPLEMENTATION)) && \
    !defined(TS__SIDECAR_IMPLEMENTED)
#define TS__SIDECAR_IMPLEMENTED

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "traces are little-endian, this machine is not: TRACESMITH_DISABLE"
#undef TRACESMITH_IMPLEMENTATION
#undef TRACESMITH_REPLAY_IMPLEMENTATION
#elif !defined(TRACESMITH_NO_FILES)
#include <sys/mman.h>
#endif
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ // refused above
#elif defined(TRACESMITH_IMPLEMENTATION) && !defined(MREMAP_MAYMOVE) && \
    !defined(TRACESMITH_NO_FILES)
#error "include tracesmith.h before system headers, or define _GNU_SOURCE"
#undef TRACESMITH_IMPLEMENTATION // one error is enough
#undef TRACESMITH_REPLAY_IMPLEMENTATION
#elif !defined(TRACESMITH_NO_FILES)
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_OFD_SETLK
#define F_OFD_SETLK 37 // Linux 3.15
#endif
#define TS__PATH_MAX      4096

// Flags for opening a file that somebody else may have put there: do not wait
// for a pipe, do not follow a link.
#define TS__OPEN_STRANGE  (O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC)

// The beginning of a sidecar.
typedef struct ts__sidecar_head {
    uint8_t magic[8];
    uint32_t layout; // sizeof(ts__sidecar), catches other versions
    uint16_t tick_type;
    uint16_t overwrites;      // a flight recorder's rings
    ts_file_header header;    // of the trace
    uint64_t device, inode;   // the trace's; 0: it has not been made yet
    char trace[TS__PATH_MAX]; // its path
} ts__sidecar_head;
#define TS__SIDECAR_MAGIC "TSRIN4\x1a\n"

// The sidecar's name in a directory; false if it is too long.
static bool ts__sidecar_name(char *out, const char *dir,
                             const uint8_t session[16])
{
    uint64_t word[2]; // the session's bytes as two numbers
    memcpy(word, session, sizeof word);
    return snprintf(out, TS__PATH_MAX,
                    "%s/tracesmith-%016" PRIx64 "%016" PRIx64 ".ring", dir,
                    __builtin_bswap64(word[0]),
                    __builtin_bswap64(word[1])) < TS__PATH_MAX;
}

static void ts__directory_of(char *out, const char *path)
{
    const char *const slash = strrchr(path, '/');
    if (!slash) path = ".";
    const size_t size = slash && slash != path ? (size_t)(slash - path) : 1;
    memcpy(out, path, size);
    out[size] = 0;
}

// Whether this user made the file and nobody else can have changed it. Root
// also accepts files of the trace's owner.
static bool ts__sidecar_own(int fd, uid_t owner)
{
    struct stat st;
    const uid_t user = geteuid();
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink <= 1 &&
           !(st.st_mode & (S_IWGRP | S_IWOTH)) &&
           (st.st_uid == user || (!user && st.st_uid == owner));
}

// Opens the folder of a path, so that the file which was checked is the one
// that is removed: whoever may write to a folder above can redirect the path in
// between, but not an open folder.
static inline int ts__folder_open(const char *path, const char **name)
{
    char dir[TS__PATH_MAX];
    const char *const slash = strrchr(path, '/');
    if (strlen(path) >= sizeof dir) return -1;
    ts__directory_of(dir, path);
    *name = slash ? slash + 1 : path;
    return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

// Removes a path if it still names the open file.
static inline bool ts__unlink_open(const char *path, int fd)
{
    const char *name;
    struct stat there, ours;
    const int folder = ts__folder_open(path, &name);
    const bool done = folder >= 0 && fstat(fd, &ours) == 0 &&
                      fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
                      there.st_dev == ours.st_dev &&
                      there.st_ino == ours.st_ino &&
                      unlinkat(folder, name, 0) == 0;
    if (folder >= 0) close(folder);
    return done;
}
#endif // files, little-endian, headers included early enough
#endif // TS__SIDECAR_IMPLEMENTED
