// Files that ts-import does not read are named for what they are.
#include "tests/tools/import/import_fixture.h"
#include "tools/import/import.h"

static void expect(const char *text, const char *bytes, size_t size)
{
    const char *const named = import_name_unknown((const uint8_t *)bytes, size);
    assert_non_null(named);
    assert_string_equal(text, named);
    assert_null(import_name_unknown((const uint8_t *)bytes, 1));
}

#define EXPECT(text, bytes) expect(text, bytes, sizeof bytes - 1)

#ifdef TRACESMITH_ARCHIVE
#define UNREAD ""
#else
#define UNREAD ", and this ts-import was built without libarchive"
#endif

UNIT_TEST(archives_are_named_with_the_program_that_unpacks_them)
{
    EXPECT("it is a zip archive" UNREAD "; unpack it with unzip first",
           "PK\3\4....");
    EXPECT("it is compressed with xz" UNREAD "; unpack it with xz -d first",
           "\xFD"
           "7zXZ....");
    EXPECT("it is compressed with zstd" UNREAD "; unpack it with zstd -d first",
           "\x28\xB5\x2F\xFD....");
    EXPECT("it is a 7z archive" UNREAD "; unpack it with 7z x first",
           "7z\xBC\xAF...");
    EXPECT("it is compressed with bzip2" UNREAD
           "; unpack it with bzip2 -d first",
           "BZh9...");
    char tar[512] = "a";
    memcpy(tar + 257, "ustar", 5);
    expect("it is a tar archive" UNREAD "; unpack it with tar -xf first", tar,
           sizeof tar);
}

UNIT_TEST(files_of_other_tools_are_named)
{
    static const char tracy[] =
        "it is a Tracy capture; import the CSV that tracy-csvexport prints: "
        "tracy-csvexport -u FILE >FILE.csv";
    EXPECT(tracy, "tr\xFDP...");
    EXPECT(tracy, "tlZ\4...");
    EXPECT(tracy, "tZst...");
    EXPECT("it is a perf.data file; import the text that perf script prints: "
           "perf script -i FILE >FILE.txt",
           "PERFILE2...");
    EXPECT("it is a pickle of Python, and no memory snapshot of PyTorch",
           "\x80\x04\x95");
}

UNIT_TEST(other_bytes_are_not_named)
{
    assert_null(import_name_unknown((const uint8_t *)"{\"nodes\": []}", 13));
    assert_null(import_name_unknown((const uint8_t *)"", 0));
}

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}
