/* ---- Reader: bytes of the trace ----------------------------------------- */

/*
    A file is read into private memory and never mapped. Other processes may
    change or truncate it meanwhile; access to a truncated page of a mapping
    would kill this process. Checks apply to the private copy, which cannot
    change.
*/
static bool ts__read_at(const ts_reader *reader, uint64_t offset, void *to,
                        size_t size)
{
    uint8_t *const bytes = to;
    if (reader->bytes) {
        memcpy(bytes, reader->bytes + offset, size);
        return true;
    }
    for (size_t have = 0; have < size;) {
        const ssize_t got = pread(reader->fd, bytes + have, size - have,
                                  (off_t)(offset + have));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        have += (size_t)got;
    }
    return true;
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
    reader->size = (uint64_t)file.st_size;
    return TS_OK;
}
