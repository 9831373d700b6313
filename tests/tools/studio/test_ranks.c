/*
    test_ranks.c - a folder of traces is one trace, whose tracks name their rank
*/
#define _GNU_SOURCE // mkdtemp
#include "tests/tools/merge/merge_forge.h"
#include "tools/cli/context.h"
#include "tools/studio/ranks/ranks.h"
#include "tools/studio/scene/scene.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char *merge_folder(const char *name)
{
    const ts_observer observer = { .user = NULL };
    studio_ranks ranks = { .items = NULL };
    setenv("TMPDIR", folder, 1);
    assert_true(studio_ranks_add(&ranks, &test_tool, folder));
    char *const path = studio_ranks_merge(&ranks, &test_tool, name, &observer);
    studio_ranks_close(&ranks);
    return path;
}

static void make_ranks(void)
{
    const made a = { .name = "rank9.sbt", .rank = 9, .collective = 1000 };
    const made b = { .name = "rank10.sbt", .rank = 10, .collective = 1400 };
    const made c = { .name = "single.sbt", .rank = -1 };
    make(&a);
    make(&b);
    make(&c);
}

static int entries_of_folder(void)
{
    int count = 0;
    DIR *const d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        count += *e->d_name != '.';
    closedir(d);
    return count;
}

UNIT_TEST(a_folder_has_its_traces_in_order_of_their_numbers)
{
    studio_ranks ranks = { .items = NULL };
    make_ranks();
    assert_int_equal(0, fclose(fopen(path_of("notes.txt"), "w")));
    assert_int_equal(0, fclose(fopen(path_of(".hidden.sbt"), "w")));
    assert_int_equal(0, mkdir(path_of("folder.sbt"), 0700));
    assert_true(studio_ranks_add(&ranks, &test_tool, folder));
    assert_int_equal(0, rmdir(path_of("folder.sbt")));
    assert_int_equal(3, ranks.count);
    assert_string_equal(path_of("rank9.sbt"), ranks.items[0]);
    assert_string_equal(path_of("rank10.sbt"), ranks.items[1]);
    assert_string_equal(path_of("single.sbt"), ranks.items[2]);
    assert_true(studio_ranks_add(&ranks, &test_tool, "one.sbt"));
    assert_string_equal("one.sbt", ranks.items[3]);
    studio_ranks_close(&ranks);
}

UNIT_TEST(the_folder_of_a_recording_that_runs_is_found_by_its_trace)
{
    assert_null(studio_ranks_recording(path_of("run.sbt")));
    assert_int_equal(0, mkdir(path_of("run.sbt.Xb3k9Q"), 0755));
    assert_null(studio_ranks_recording(path_of("run.sbt"))); // not private
    assert_int_equal(0, chmod(path_of("run.sbt.Xb3k9Q"), 0700));
    char *const found = studio_ranks_recording(path_of("run.sbt"));
    assert_non_null(found);
    assert_true(cli_same_file(path_of("run.sbt.Xb3k9Q"), found));
    free(found);
    assert_null(studio_ranks_recording(path_of("un.sbt")));
    make_ranks(); // a trace that is there is meant itself
    assert_int_equal(0, mkdir(path_of("rank9.sbt.Xb3k9Q"), 0700));
    assert_null(studio_ranks_recording(path_of("rank9.sbt")));
    assert_int_equal(0, rmdir(path_of("rank9.sbt.Xb3k9Q")));
    assert_int_equal(0, rmdir(path_of("run.sbt.Xb3k9Q")));
}

UNIT_TEST(tracks_of_ranks_are_aligned_and_named_by_rank)
{
    static const char *const names[] = { "rank 9: thread 78",
                                         "rank 9: stream 7 on GPU 0",
                                         "rank 10: stream 7 on GPU 0",
                                         "app (77): stream 7 on GPU 0" };
    scene *s;
    scene_item item;
    unsigned found = 0, kernels = 0;
    make_ranks();
    char *const path = merge_folder("job.sbt");
    const ts_reader_desc desc = { .path = path };
    ts_reader *reader;
    assert_int_equal(TS_OK, ts_reader_open(&reader, &desc));
    assert_int_equal(TS_OK, scene_open(&s, reader));
    assert_true(scene_load(s, -1000, 10000));
    for (uint32_t i = 0; i < scene_row_count(s); i++) {
        const scene_row *const row = scene_row_at(s, i);
        const ts_text name = scene_row_name(s, row);
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (name.size == strlen(names[k]) &&
                !memcmp(name.text, names[k], name.size))
                found |= 1u << k;
        // Collectives of both end at 1000.
        kernels += row->type == SCENE_WORK && scene_pick(s, i, 999, 0, &item) &&
                   item.end_ns == 1000;
    }
    assert_int_equal(2, kernels);
    assert_int_equal((1 << 4) - 1, found);
    scene_close(s);
    ts_reader_close(reader);
    studio_ranks_remove(path);
}

UNIT_TEST(the_merged_file_is_removed)
{
    make_ranks();
    const int before = entries_of_folder();
    char *const path = merge_folder("job.sbt");
    assert_int_equal(before + 1, entries_of_folder());
    assert_string_equal("/job.sbt", strrchr(path, '/'));
    studio_ranks_remove(path);
    assert_int_equal(before, entries_of_folder());
    studio_ranks_remove(NULL);
}

UNIT_TEST(a_signal_removes_the_merged_file)
{
    const int signals[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                            SIGPIPE, SIGALRM, SIGXCPU, SIGXFSZ };
    const struct rlimit none = { 0, 0 };
    int status;
    make_ranks();
    const int before = entries_of_folder();
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        const pid_t child = fork();
        if (!child) {
            setrlimit(RLIMIT_CORE, &none);
            merge_folder("job.sbt");
            raise(signals[i]);
            _exit(0);
        }
        assert_int_equal(child, waitpid(child, &status, 0));
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
        assert_int_equal(before, entries_of_folder());
    }
}

// What the folder has, in order, as "a.sbt b.sbt ".
static const char *list(void)
{
    static char text[400];
    studio_ranks ranks = { .items = NULL };
    assert_true(studio_ranks_add(&ranks, &test_tool, folder));
    *text = 0;
    for (size_t i = 0; i < ranks.count; i++) {
        strcat(text, strrchr(ranks.items[i], '/') + 1);
        strcat(text, " ");
    }
    studio_ranks_close(&ranks);
    return text;
}

UNIT_TEST(a_file_with_two_names_is_one_trace)
{
    make_ranks();
    assert_int_equal(0, symlink("rank10.sbt", path_of("latest.sbt")));
    assert_int_equal(0, symlink("missing.sbt", path_of("none.sbt")));
    assert_int_equal(0, link(path_of("rank9.sbt"), path_of("sane.sbt")));
    assert_string_equal("rank9.sbt rank10.sbt single.sbt ", list());
    // Of two links to a file elsewhere the first stays.
    assert_int_equal(0, unlink(path_of("sane.sbt")));
    assert_int_equal(0, rename(path_of("rank10.sbt"), path_of("10")));
    assert_int_equal(0, unlink(path_of("latest.sbt")));
    assert_int_equal(0, symlink("10", path_of("a.sbt")));
    assert_int_equal(0, symlink("10", path_of("b.sbt")));
    assert_string_equal("a.sbt rank9.sbt single.sbt ", list());
    unlink(path_of("a.sbt"));
    unlink(path_of("b.sbt"));
    unlink(path_of("none.sbt"));
    unlink(path_of("10"));
}

static void merge_to(const char *out, const char *a, const char *b)
{
    const char *const names[] = { a, b };
    merge_job job = merge_names(out, names, 2, NULL, false);
    merge_close(&job);
}

UNIT_TEST(a_trace_that_was_merged_of_others_of_the_folder_is_left_out)
{
    make_ranks();
    merge_to("all.sbt", "rank9.sbt", "rank10.sbt");
    assert_string_equal("rank9.sbt rank10.sbt single.sbt ", list());
    merge_to("more.sbt", "all.sbt", "single.sbt");
    assert_string_equal("rank9.sbt rank10.sbt single.sbt ", list());
    // A part that is not there any more keeps it; so does one of its own.
    assert_int_equal(0, unlink(path_of("rank9.sbt")));
    assert_string_equal("all.sbt rank10.sbt single.sbt ", list());
    assert_int_equal(0, unlink(path_of("more.sbt")));
    assert_int_equal(0, unlink(path_of("rank10.sbt")));
    assert_string_equal("all.sbt single.sbt ", list());
    // Another file of the same name, of another rank, is another process.
    const made other = { .name = "rank9.sbt", .rank = 3 };
    make(&other);
    assert_string_equal("all.sbt rank9.sbt single.sbt ", list());
    assert_int_equal(0, unlink(path_of("all.sbt")));
}

int main(void)
{
    return unit_run(folder_begin, folder_end);
}
