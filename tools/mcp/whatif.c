/*
    whatif.c - the tool what_if: what the model says of changes
*/
#include "tools/mcp/call.h"

enum { CHANGES_MOST = 8 };

// Opens the figures of the changes that the arguments name.
static ts_whatif *open_whatif(mcp_call *call)
{
    const char *changes[CHANGES_MOST];
    ts_whatif_desc desc = { .changes = changes };
    const mcp_value *const list = mcp_at(call->arguments, "changes");
    ts_whatif *whatif = NULL;
    for (const mcp_value *v = list->first; v; v = v->next)
        changes[desc.change_count++] = v->text.text;
    if (!mcp_need_model(call->models, call->set, &call->error)) return NULL;
    ts_whatif_open(&whatif, call->set->model, &desc, &call->error);
    return whatif;
}

static void put_answer(mcp_call *call, const ts_whatif *whatif)
{
    ts_whatif_figures model, f, best = { .change = NULL };
    char text[MCP_PROSE] = "None of the changes makes the run shorter.";
    ts_whatif_figures_at(whatif, 0, &model);
    for (size_t i = 1; ts_whatif_figures_at(whatif, i, &f); i++)
        if (!f.never_ran && f.makespan_ns && f.change_ns < best.change_ns)
            best = f;
    if (model.never_ran)
        snprintf(text, sizeof text,
                 "The model of this trace does not run to its end: %s, as they "
                 "wait for each other or for such operations.",
                 cli_counted(model.never_ran, "operation never runs",
                             "operations never run")
                     .s);
    else if (best.change)
        snprintf(
            text, sizeof text,
            "The most is gained by '%s': %s instead of %s (%s).", best.change,
            cli_time(best.makespan_ns).s, cli_time(model.makespan_ns).s,
            cli_change((double)best.change_ns / (double)model.makespan_ns, 1)
                .s);
    mcp_put_string(call, &call->answer.json, "answer", text);
}

static void put_times(cli_json *json, const ts_whatif_figures *f)
{
    if (f->never_ran || !f->makespan_ns) { // nothing to compare
        cli_json_null(json, "makespan_ns");
        cli_json_null(json, "change_ns");
        cli_json_null(json, "bound_by");
        cli_json_null(json, "critical_path_ns");
        return;
    }
    cli_json_int(json, "makespan_ns", f->makespan_ns);
    cli_json_int(json, "change_ns", f->change_ns);
    cli_json_string(json, "bound_by", ts_cost_name(f->bound));
    cli_json_open(json, "critical_path_ns", '{');
    for (uint32_t i = 0; i < TS_COST_LIMIT; i++)
        cli_json_int(json, ts_cost_name(i), f->cost_ns[i]);
    cli_json_close(json, '}');
}

static void put_figures(mcp_call *call, const ts_whatif_figures *f)
{
    cli_json *const row = &call->answer.row;
    mcp_put_string(call, row, "change", f->change);
    mcp_put_string(call, row, "assumed", f->assumed);
    mcp_put_string(call, row, "nothing", f->nothing);
    mcp_put_confidence(row, "confidence", f->confidence);
    mcp_put_string(call, row, "because", f->because);
    cli_json_uint(row, "operations_meant", f->meant);
    cli_json_uint(row, "operations", f->operations);
    cli_json_uint(row, "never_ran", f->never_ran);
    put_times(row, f);
}

static bool put_all(mcp_call *call, const ts_whatif *whatif)
{
    cli_json *const json = &call->answer.json;
    const char *because[2] = { NULL };
    ts_whatif_figures model, f;
    ts_whatif_figures_at(whatif, 0, &model);
    if (*model.because) because[0] = model.because;
    if (!mcp_answer_begin(call)) return false;
    put_answer(call, whatif);
    if (!mcp_put_trust(call, model.confidence, because)) return false;
    cli_json_int(json, "recorded_ns", ts_whatif_recorded_ns(whatif));
    if (model.never_ran)
        cli_json_null(json, "model_ns");
    else
        cli_json_int(json, "model_ns", model.makespan_ns);
    mcp_list_begin(call, "what_ifs");
    for (uint64_t i = call->answer.first;
         ts_whatif_figures_at(whatif, i + 1, &f); i++) {
        if (!mcp_row_begin(call, i, '{')) break;
        put_figures(call, &f);
        if (!mcp_row_end(call, '}')) break;
    }
    return mcp_answer_end(call, false);
}

bool mcp_what_if(mcp_call *call)
{
    ts_whatif *const whatif = open_whatif(call);
    if (!whatif) return false;
    const bool done = put_all(call, whatif);
    ts_whatif_close(whatif);
    return done;
}
