/* ---- Reader: bytes of the trace ----------------------------------------- */

/*
    A file is read into memory of our own and never mapped: whoever owns it
    may change it meanwhile, and cut it short, which kills a process that looks
    at a page which is gone. What was checked is a copy that nobody changes.
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

// A pipe is read once: its bytes are collected.
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
    reader->fd = -1; // there is no more to come
    return result;
}

// Whether it is a pipe without a name, such as a shell's <(...), which has a
// writer. Others may have made one with a name, and nobody ever writes to it.
static bool ts__is_shell_pipe(int fd, const struct stat *file)
{
    struct statfs fs; // f_type: statfs(2)
    return S_ISFIFO(file->st_mode) && fstatfs(fd, &fs) == 0 &&
           fs.f_type == 0x50495045 /* PIPEFS_MAGIC */ &&
           fcntl(fd, F_SETFL, 0) == 0; // it may be waited for
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
