/* ---- What a dead process left ------------------------------------------- */

#if ((defined(TRACESMITH_IMPLEMENTATION) && defined(TRACESMITH_SALVAGE) && \
      !defined(TRACESMITH_DISABLE)) || \
     defined(TRACESMITH_REPLAY_IMPLEMENTATION)) && \
    !defined(TRACESMITH_NO_FILES) && !defined(TS__LEFTOVER_IMPLEMENTED)
#define TS__LEFTOVER_IMPLEMENTED

typedef struct ts__leftover { // the sidecar of a trace
    int fd;                   // -1: none that may be used
    char path[TS__PATH_MAX];
    char link[TS__PATH_MAX]; // the link beside the trace
} ts__leftover;

static bool ts__sidecar_head_read(int fd, ts__sidecar_head *head)
{
    const bool whole =
        pread(fd, head, sizeof *head, 0) == (ssize_t)sizeof *head &&
        !memcmp(head->magic, TS__SIDECAR_MAGIC, sizeof head->magic);
    head->trace[sizeof head->trace - 1] = 0;
    return whole;
}

// Whether the trace that a sidecar names still exists.
static bool ts__sidecar_awaited(const ts__sidecar_head *head)
{
    ts_file_header header;
    const int fd = open(head->trace, O_RDONLY | TS__OPEN_STRANGE);
    if (fd < 0) return errno != ENOENT && errno != ENOTDIR;
    const bool same =
        pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
        !memcmp(header.session, head->header.session, sizeof header.session);
    close(fd);
    return same;
}

// Whether a sidecar in a folder shared by many traces belongs to this trace,
// and not to another one with the same identity, such as a copy.
static bool ts__sidecar_fits(int fd, const struct stat *trace)
{
    ts__sidecar_head head;
    if (!ts__sidecar_head_read(fd, &head)) return true; // ts_salvage says why
    return (head.device == (uint64_t)trace->st_dev &&
            head.inode == (uint64_t)trace->st_ino) ||
           !ts__sidecar_awaited(&head);
}

static ts_result ts__leftover_open(ts__leftover *l, const struct stat *trace,
                                   bool shared, int flags)
{
    const int fd = open(l->path, flags | TS__OPEN_STRANGE);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? TS_ERR_NOT_FOUND
                                                   : TS_ERR_UNTRUSTED;
    if (ts__sidecar_own(fd, trace->st_uid) &&
        (!shared || ts__sidecar_fits(fd, trace))) {
        l->fd = fd;
        return TS_OK;
    }
    close(fd);
    return TS_ERR_UNTRUSTED;
}

// Follows the link beside the trace, which must lead to a file with the
// sidecar's name.
static ts_result ts__leftover_link(ts__leftover *l, const uint8_t session[16])
{
    char dir[TS__PATH_MAX], named[TS__PATH_MAX];
    const ssize_t n = readlink(l->link, l->path, sizeof l->path - 1);
    if (n < 0) return errno == EINVAL ? TS_ERR_UNTRUSTED : TS_ERR_NOT_FOUND;
    l->path[n] = 0;
    ts__directory_of(dir, l->path);
    return *l->path == '/' && ts__sidecar_name(named, dir, session) &&
                   !strcmp(named, l->path)
               ? TS_OK
               : TS_ERR_UNTRUSTED;
}

/*
    Opens the sidecar of a trace: in shared memory, beside it, or where the
    link beside it leads. TS_ERR_UNTRUSTED: the file there was not made
    by this user's recorder for this trace.
*/
static ts_result ts__leftover_find(ts__leftover *l, const char *path, int trace,
                                   const uint8_t session[16], int flags)
{
    struct stat st;
    char dir[TS__PATH_MAX];
    ts_result found = TS_ERR_NOT_FOUND;
    l->fd = -1;
    if (strlen(path) >= TS__PATH_MAX - 8) return TS_ERR_NOT_FOUND;
    if (fstat(trace, &st) != 0) return TS_ERR_IO;
    snprintf(l->link, sizeof l->link, "%s.ring", path);
    ts__directory_of(dir, path);
    for (int place = 0; place < 3; place++) {
        ts_result result =
            place == 2 ? ts__leftover_link(l, session)
            : ts__sidecar_name(l->path, place ? dir : "/dev/shm", session)
                ? TS_OK
                : TS_ERR_NOT_FOUND;
        if (result == TS_OK)
            result = ts__leftover_open(l, &st, place != 1, flags);
        if (result == TS_OK) return TS_OK;
        if (result != TS_ERR_NOT_FOUND) found = result;
    }
    return found;
}
#endif // TS__LEFTOVER_IMPLEMENTED
