/* ---- Reader: files of Windows ------------------------------------------- */

/*
    A path is in UTF-8. There are no sidecars: nothing records there, so nothing
    is salvaged.
*/
#ifdef TS__WINDOWS_FILES

static int64_t ts__path_read(void *user, uint64_t offset, void *to, size_t size)
{
    const ts_reader *const reader = user;
    const DWORD most = size < 1u << 30 ? (DWORD)size : 1u << 30;
    OVERLAPPED at = { .Offset = (DWORD)offset,
                      .OffsetHigh = (DWORD)(offset >> 32) };
    DWORD got = 0;
    // At an offset of its own: other threads may be reading.
    if (ReadFile((HANDLE)_get_osfhandle(reader->fd), to, most, &got, &at))
        return got;
    return GetLastError() == ERROR_HANDLE_EOF ? 0 : -1;
}

static uint64_t ts__path_length(void *user)
{
    const ts_reader *const reader = user;
    const int64_t size = _filelengthi64(reader->fd);
    return size < 0 ? reader->size : (uint64_t)size;
}

static int ts__path_wide(const char *path)
{
    wchar_t wide[4096];
    return MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide,
                               4096)
               ? _wopen(wide, _O_RDONLY | _O_BINARY | _O_NOINHERIT)
               : -1;
}

static ts_result ts__path_open(ts_reader *reader)
{
    reader->fd = ts__path_wide(reader->path);
    if (reader->fd < 0) return TS_ERR_IO;
    if (GetFileType((HANDLE)_get_osfhandle(reader->fd)) != FILE_TYPE_DISK)
        return TS_ERR_NOT_FILE;
    reader->size = ts__path_length(reader);
    if (!reader->size) return TS_ERR_TRUNCATED;
    reader->desc.read = ts__path_read;
    reader->desc.length = ts__path_length;
    reader->desc.user = reader;
    return TS_OK;
}

static void ts__path_close(const ts_reader *reader)
{
    if (reader->fd >= 0) _close(reader->fd);
}

static ts_result ts__leftover_state(const ts_reader *reader)
{
    (void)reader;
    return TS_ERR_NOT_FOUND;
}
#endif // TS__WINDOWS_FILES
