/*
    test_import_tracy.c - the CSV of tracy-csvexport becomes a trace

    Sources are written by hand as csvexport.cpp prints them.
*/
#include "tests/tools/import/import_fixture.h"
#include "tools/import/import.h"

static void expect(const char *source, const char *events)
{
    import_expect(fixture_save(source, strlen(source)), events);
}

#define ZONES "name,src_file,src_line,ns_since_start,exec_time_ns"

UNIT_TEST(zones_have_their_place_thread_and_text)
{
    expect(ZONES ",thread,value\n"
                 "work,main.cpp,12,1000,50,77,\r\n"
                 "work,main.cpp,12,2000,60,78,step 1, of 2\n"
                 "std::map<int, int>::find,a.h,7,1010,5,77,9,9\n",
           "1000+50 zone on thread 77 site=work\n"
           "1010+5 zone on thread 77 site=std::map<int, int>::find\n"
           "1010+0 zone_arg on thread 77 site=std::map<int, int>::find "
           "name=value type=3 \"9,9\"\n"
           "2000+60 zone on thread 78 site=work\n"
           "2000+0 zone_arg on thread 78 site=work name=value type=3 "
           "\"step 1, of 2\"\n");
}

UNIT_TEST(a_site_has_the_file_and_line)
{
    const char text[] = ZONES ",thread\nwork,main.cpp,12,1000,50,77\n";
    imported i =
        import_into(fixture_save(text, sizeof text - 1), fixture_path(1, "o"));
    const ts_site_entry *const site = ts_reader_site(i.reader, 1);
    assert_non_null(site);
    const ts_text file = ts_reader_name(i.reader, site->file);
    assert_memory_equal("main.cpp", file.text, file.size);
    assert_int_equal(12, site->line);
    import_done(&i);
}

UNIT_TEST(plots_are_counters)
{
    expect(ZONES ",thread,value\n"
                 "work,main.cpp,12,1000,50,77,\n"
                 "memory, used,,,1001,,,2.000000\n",
           "1000+50 zone on thread 77 site=work\n"
           "1001+0 counter on counter 0 memory, used type=2 "
           "value=4611686018427387904\n");
}

UNIT_TEST(older_exports_lack_the_thread_or_the_text)
{
    expect(ZONES ",thread\nwork,main.cpp,12,1000,50,77\n",
           "1000+50 zone on thread 77 site=work\n");
    expect(ZONES "\nwork,main.cpp,12,1000,50\n",
           "1000+50 zone on thread 0 site=work\nflawed no_thread 1\n");
}

UNIT_TEST(any_separator_is_found_in_the_head)
{
    expect("name; src_file; src_line; ns_since_start; exec_time_ns; thread\n"
           "f<a, b>; a.c; 12; 1000; 50; 77\n",
           "1000+50 zone on thread 77 site=f<a, b>\n");
}

UNIT_TEST(zones_of_gpus_lie_below_a_device)
{
    expect("name,src_file,Time from start of program,GPU execution time\n"
           "blur,gl.c,1000,20\n",
           "1000+20 zone on device 0/thread 0 zones site=blur\n");
}

UNIT_TEST(messages_keep_their_text)
{
    expect("MessageName,total_ns\nloaded, 3 of 4,1000\n",
           "1000+0 message on thread 0 site=message \"loaded, 3 of 4\"\n");
}

UNIT_TEST(statistics_are_samples_without_times)
{
    expect("name,src_file,src_line,total_ns,total_perc,counts,mean_ns,min_ns,"
           "max_ns,std_ns\n"
           "f<a, b>,main.cpp,12,500,1.5,4,125,100,150,3.2\n",
           "0+0 sample on thread 0 name=total unit=ns type=1 value=500 "
           "stack=f<a, b>@profile(main.cpp:12)\n"
           "0+0 sample on thread 0 name=count type=1 value=4 "
           "stack=f<a, b>@profile(main.cpp:12)\n"
           "no place means, extremes, deviations 1\n");
}

UNIT_TEST(broken_rows_are_counted)
{
    expect(ZONES ",thread,value\n"
                 "work,main.cpp,12,1000,50,77,\n"
                 "work,main.cpp,12,2000,-1,77,\n"
                 "rest of a text\n"
                 "work,main.cpp,12,3000\n"
                 "12,13,14,15,16\n",
           "1000+50 zone on thread 77 site=work\n"
           "bad reversed_time 1\n"
           "bad broken_row 3\n");
}

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}
