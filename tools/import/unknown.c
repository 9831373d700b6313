/*
    unknown.c - names files that no format recognises, by their first bytes
*/
#include "tools/import/import.h"

bool import_has(const uint8_t *bytes, size_t size, const char *word)
{
    const size_t length = strlen(word);
    for (size_t i = 0; i + length <= size; i++) {
        const uint8_t *const at = memchr(bytes + i, word[0], size - i);
        if (!at) return false;
        i = (size_t)(at - bytes);
        if (i + length <= size && !memcmp(at, word, length)) return true;
    }
    return false;
}

#define TRACY \
    "it is a Tracy capture; import the CSV that tracy-csvexport prints: " \
    "tracy-csvexport -u FILE >FILE.csv"

// What libarchive would read, but not inside of another archive.
#ifdef TRACESMITH_ARCHIVE
#define UNREAD ""
#else
#define UNREAD ", and this ts-import was built without libarchive"
#endif

static const char *by_magic(const uint8_t *bytes, size_t size)
{
    static const struct {
        const char *magic, *text;
        size_t size;
    } files[] = {
        { "PK\3\4", "it is a zip archive" UNREAD "; unpack it with unzip first",
          4 },
        { "\xFD"
          "7zXZ",
          "it is compressed with xz" UNREAD "; unpack it with xz -d first", 5 },
        { "\x28\xB5\x2F\xFD",
          "it is compressed with zstd" UNREAD "; unpack it with zstd -d first",
          4 },
        { "7z\xBC\xAF",
          "it is a 7z archive" UNREAD "; unpack it with 7z x first", 4 },
        { "BZh",
          "it is compressed with bzip2" UNREAD
          "; unpack it with bzip2 -d first",
          3 },
        { "tr\xFDP", TRACY, 4 },
        { "tlZ\4", TRACY, 4 },
        { "tZst", TRACY, 4 },
        { "PERFILE2",
          "it is a perf.data file; import the text that perf script prints: "
          "perf script -i FILE >FILE.txt",
          8 },
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (size >= files[i].size &&
            !memcmp(bytes, files[i].magic, files[i].size))
            return files[i].text;
    return NULL;
}

const char *import_name_unknown(const uint8_t *bytes, size_t size)
{
    const char *const text = by_magic(bytes, size);
    if (text) return text;
    if (size > 262 && !memcmp(bytes + 257, "ustar", 5))
        return "it is a tar archive" UNREAD "; unpack it with tar -xf first";
    if (size >= 2 && bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5)
        return "it is a pickle of Python, and no memory snapshot of PyTorch";
    return NULL;
}
