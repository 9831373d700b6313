/* ---- Reader: files and sidecars ----------------------------------------- */

#ifndef TRACESMITH_NO_FILES

static int64_t ts__path_read(void *user, uint64_t offset, void *to, size_t size)
{
    const ts_reader *const reader = user;
    ssize_t got;
    do
        got = pread(reader->fd, to, size, (off_t)offset);
    while (got < 0 && errno == EINTR);
    return got;
}

static uint64_t ts__path_length(void *user)
{
    const ts_reader *const reader = user;
    struct stat file;
    return fstat(reader->fd, &file) == 0 ? (uint64_t)file.st_size
                                         : reader->size;
}

// Reads a pipe to its end and keeps the bytes, as they cannot be read twice.
static ts_result ts__pipe_read(ts_reader *reader)
{
    uint8_t *bytes = NULL;
    size_t count = 0, capacity = 0;
    ts_result result = TS_OK;
    for (;;) {
        uint8_t *const more =
            ts__mem_more(&reader->allocator, bytes, &capacity, count, 1);
        if (!more) {
            result = TS_ERR_MEMORY;
            break;
        }
        bytes = more;
        const ssize_t got = read(reader->fd, bytes + count, capacity - count);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) result = TS_ERR_IO;
        if (got <= 0) break;
        count += (size_t)got;
    }
    reader->bytes = reader->piped = bytes;
    reader->piped_size = capacity;
    reader->size = count;
    close(reader->fd);
    reader->fd = -1; // the pipe is at its end
    return result;
}

// Returns whether a file is a pipe without a name, such as a shell's <(...),
// which has a writer. A named pipe may never get one: reading would block.
static bool ts__is_shell_pipe(int fd, const struct stat *file)
{
    struct statfs fs; // f_type: statfs(2)
    return S_ISFIFO(file->st_mode) && fstatfs(fd, &fs) == 0 &&
           fs.f_type == 0x50495045 /* PIPEFS_MAGIC */ &&
           fcntl(fd, F_SETFL, 0) == 0; // blocking reads are safe
}

static ts_result ts__path_open(ts_reader *reader)
{
    struct stat file;
    reader->fd =
        open(reader->path, O_RDONLY | (TS__OPEN_STRANGE & ~O_NOFOLLOW));
    if (reader->fd < 0 || fstat(reader->fd, &file) != 0) return TS_ERR_IO;
    if (ts__is_shell_pipe(reader->fd, &file)) return ts__pipe_read(reader);
    if (!S_ISREG(file.st_mode)) return TS_ERR_NOT_FILE;
    if (file.st_size == 0) return TS_ERR_TRUNCATED;
    reader->desc.read = ts__path_read;
    reader->desc.length = ts__path_length;
    reader->desc.user = reader;
    reader->size = (uint64_t)file.st_size;
    return TS_OK;
}

static void ts__path_close(const ts_reader *reader)
{
    if (reader->fd >= 0) close(reader->fd);
}

// Returns whether the recorder of a sidecar lives, by its lock. Locks belong to
// the open file, so that the query disturbs no recorder, not even one in this
// process. take: take the lock to keep others out.
static bool ts__sidecar_locked(int fd, bool take)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    if (take) return fcntl(fd, F_OFD_SETLK, &lock) != 0;
    return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

// The state of a trace without an end: TS_ERR_BUSY if its writer lives,
// TS_ERR_STATE if the writer left a sidecar, else the result of
// ts__leftover_find.
static ts_result ts__leftover_state(const ts_reader *reader)
{
    ts__leftover found;
    if (reader->fd < 0) return TS_ERR_NOT_FOUND;
    const ts_result result = ts__leftover_find(
        &found, reader->path, reader->fd, reader->header.session, O_RDONLY);
    if (result != TS_OK) return result;
    const bool locked = ts__sidecar_locked(found.fd, false);
    close(found.fd);
    return locked ? TS_ERR_BUSY : TS_ERR_STATE;
}

static ts_result ts__sidecar_read(int fd, bool lock, ts_sidecar *sidecar)
{
    struct stat st;
    ts__sidecar_head head;
    if (!ts__sidecar_own(fd, geteuid())) return TS_ERR_UNTRUSTED;
    if (fstat(fd, &st) == 0) sidecar->size = (uint64_t)st.st_blocks * 512;
    const bool known = ts__sidecar_head_read(fd, &head);
    if (known) {
        memcpy(sidecar->trace, head.trace, sizeof sidecar->trace);
        sidecar->process = head.header.process;
        sidecar->start_realtime_ns = head.header.start_realtime_ns;
    }
    if (ts__sidecar_locked(fd, lock)) return TS_ERR_BUSY;
    if (!known) return TS_ERR_VERSION;
    return ts__sidecar_awaited(&head) ? TS_OK : TS_ERR_NOT_FOUND;
}

TS_API ts_result ts_sidecar_look(const char *path, ts_sidecar *sidecar)
{
    memset(sidecar, 0, sizeof *sidecar);
    const int fd = open(path, O_RDONLY | TS__OPEN_STRANGE);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? TS_ERR_IO
                                                   : TS_ERR_UNTRUSTED;
    const ts_result result = ts__sidecar_read(fd, false, sidecar);
    close(fd);
    return result;
}

TS_API ts_result ts_sidecar_remove(const char *path)
{
    ts_sidecar sidecar;
    const int fd = open(path, O_RDWR | TS__OPEN_STRANGE);
    if (fd < 0) return ts_sidecar_look(path, &sidecar);
    ts_result result = ts__sidecar_read(fd, true, &sidecar);
    if (result == TS_OK) result = TS_ERR_STATE;
    if (result == TS_ERR_NOT_FOUND)
        result = ts__unlink_open(path, fd) ? TS_OK : TS_ERR_IO;
    close(fd);
    return result;
}

#elif !defined(TS__WINDOWS_FILES)

static ts_result ts__path_open(const ts_reader *reader)
{
    (void)reader;
    return TS_ERR_UNSUPPORTED;
}

static void ts__path_close(const ts_reader *reader)
{
    (void)reader;
}

static ts_result ts__leftover_state(const ts_reader *reader)
{
    (void)reader;
    return TS_ERR_NOT_FOUND;
}

#endif // TRACESMITH_NO_FILES
