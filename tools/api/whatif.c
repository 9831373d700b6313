/*
    whatif.c - ts_whatif: what the model of a replay says of a change
*/
#include "tools/api/call.h"
#include "tools/replay/whatif/whatif.h"

static const cli_tool tool = { .name = "ts-replay" };

struct ts_whatif {
    api_texts texts;
    whatif *list;
    size_t count;
    whatif_report report;
};

static bool take_desc(ts_whatif *w, const ts_whatif_desc *desc)
{
    w->list = calloc(desc->change_count + 1, sizeof *w->list);
    if (!w->list) return cli_out_of_memory(&tool);
    for (; w->count < desc->change_count; w->count++) {
        const char *const text = api_keep(&w->texts, desc->changes[w->count]);
        if (!text) return cli_out_of_memory(&tool);
        if (!whatif_read(&tool, text, &w->list[w->count])) return false;
    }
    return true;
}

static bool run(ts_whatif *w, ts_replay *replay)
{
    const ts_result result = whatif_run(replay, w->list, w->count, &w->report);
    if (result == TS_OK) return true;
    if (w->report.why)
        return cli_fail(&tool, result, NULL, "--what-if '%s': %s",
                        w->report.of_text, w->report.why);
    return cli_fail(&tool, result, NULL, "%s", ts_result_text(result));
}

ts_result ts_whatif_open(ts_whatif **made, ts_replay *replay,
                         const ts_whatif_desc *desc, ts_error *error)
{
    api_call call;
    *made = NULL;
    bool ok = api_begin(&call, &desc->observer, NULL, error);
    ts_whatif *const w = ok ? calloc(1, sizeof *w) : NULL;
    if (ok && !w) ok = cli_out_of_memory(&tool);
    ok = ok && take_desc(w, desc) && run(w, replay);
    const ts_result result = api_end(&call, ok);
    if (ok)
        *made = w;
    else
        ts_whatif_close(w);
    return result;
}

void ts_whatif_close(ts_whatif *w)
{
    if (!w) return;
    whatif_report_close(&w->report);
    for (size_t i = 0; i < w->count; i++)
        whatif_close(&w->list[i]);
    free(w->list);
    api_texts_close(&w->texts);
    free(w);
}

int64_t ts_whatif_recorded_ns(const ts_whatif *w)
{
    return w->report.recorded_ns;
}

static ts_confidence confidence_of(const char *name)
{
    return !strcmp(name, "high")     ? TS_CONFIDENCE_HIGH
           : !strcmp(name, "medium") ? TS_CONFIDENCE_MEDIUM
                                     : TS_CONFIDENCE_LOW;
}

bool ts_whatif_figures_at(const ts_whatif *w, size_t index,
                          ts_whatif_figures *figures)
{
    if (index >= w->report.count) return false;
    const whatif_figures *const f = &w->report.figures[index];
    // A reason of the change alone comes before that of the model.
    const whatif_trust *const trust = f->text ? &f->trust : &w->report.trust;
    const char *const because =
        *trust->because ? trust->because : w->report.trust.because;
    *figures = (ts_whatif_figures){
        .change = f->text,
        .assumed = f->assumed.s,
        .nothing = f->text && !f->meant ? f->nothing : "",
        .confidence = confidence_of(trust->confidence),
        .because = because,
        .meant = f->meant,
        .operations = f->operations,
        .never_ran = f->never_ran,
        .makespan_ns = f->makespan_ns,
        .change_ns = w->report.figures->never_ran ? 0 : f->change_ns,
        .bound = f->bound,
    };
    memcpy(figures->cost_ns, f->cost_ns, sizeof figures->cost_ns);
    return true;
}
