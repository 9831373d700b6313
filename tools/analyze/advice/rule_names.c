/*
    rule_names.c - advice: kernels recognised by name and launch
*/
#include "tools/analyze/figures/operations/occupancy.h"
#include "tools/analyze/advice/rule.h"

static bool is_kernel(const advice *a, uint32_t op)
{
    return a->ops[op].kind == TS_EVENT_KERNEL && !a->ops[op].skipped;
}

// A cache of results by launch: 1 no, 2 yes.
typedef struct answers {
    uint8_t *of; // results by file and launch
    size_t room, stride;
} answers;

static answers answers_open(advice *a)
{
    answers all = { 0 };
    for (uint32_t i = 0; i < a->job->file_count; i++) {
        const size_t count = analyze_info(a->job, i)->launch_count + 1;
        if (count > all.stride) all.stride = count;
    }
    all.room = all.stride * a->job->file_count;
    all.of = calloc(all.room + 1, 1);
    if (!all.of) a->failed = true;
    return all;
}

static bool is_named(const advice *a, answers *all, uint32_t op,
                     const char *const *words)
{
    const size_t at =
        a->ops[op].file * all->stride + advice_launch_id(a, &a->ops[op]);
    if (!is_kernel(a, op) || !all->of) return false;
    if (advice_launch_id(a, &a->ops[op]) >= all->stride)
        return advice_has_word(advice_raw_name(a, op), words);
    if (!all->of[at])
        all->of[at] = advice_has_word(advice_raw_name(a, op), words) ? 2 : 1;
    return all->of[at] == 2;
}

static int64_t kernel_time(const advice *a)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < a->op_count; i++)
        if (is_kernel(a, i)) sum += advice_length(&a->ops[i]);
    return sum;
}

// Adds a finding for a mask; NULL if its share of the kernel time is below the
// threshold `share`.
static advice_finding *find_mask(advice *a, const advice_rule *rule,
                                 const advice_mask *mask)
{
    const int64_t all = kernel_time(a);
    if (!mask->count || !mask->means ||
        !advice_reaches(a, rule, "share", mask->ns, all))
        return NULL;
    advice_finding *const f = advice_find_mask(a, rule, mask);
    const uint32_t longest = f->evidence.operations[0];
    const ts_text name = advice_label(a, longest);
    ADVICE_SAY(a, f, what,
               "%s kernels, %s, %s of the kernel time; the longest is %.*s, "
               "%s%s.",
               cli_count(mask->count).s, cli_time(mask->ns).s,
               report_words(report_share(mask->ns, all)).s, (int)name.size,
               name.text, cli_time(f->longest_ns).s,
               advice_in_zone(a, longest).text);
    return f;
}

/* ---- fp32-matmul --------------------------------------------------------- */

void rule_fp32_matmul(advice *a, const advice_rule *rule)
{
    static const char *const words[] = { "sgemm", "Sgemm", "SGEMM",
                                         "f32f32_f32f32_f32", NULL };
    const uint32_t percent = (uint32_t)advice_limit(a, rule, "assumed") / 100;
    answers known = answers_open(a);
    advice_mask mask = advice_mask_open(a);
    for (uint32_t i = 0; i < a->op_count; i++)
        if (a->devices[a->ops[i].device].compute_major >= 7 &&
            is_named(a, &known, i, words))
            advice_mask_add(a, &mask, i);
    advice_finding *const f = find_mask(a, rule, &mask);
    if (f) {
        ts_change *const change = advice_change(a, f, TS_CHANGE_SCALE, &mask);
        change->factor.num = percent;
        change->factor.den = 100;
        f->assumed = true;
        ADVICE_SAY(a, f, title, "matrices are multiplied without tensor cores");
        ADVICE_SAY(a, f, todo,
                   "If the precision suffices, allow TF32 (from compute "
                   "capability 8.0, "
                   "torch.set_float32_matmul_precision(\"high\")), or train "
                   "and infer in bf16 or fp16.");
        ADVICE_SAY(a, f, how,
                   "replay in which they take %" PRIu32 " %% of their time; "
                   "tensor cores are mostly faster than that",
                   percent);
        f->confidence = REPORT_MEDIUM;
    }
    advice_mask_close(&mask);
    free(known.of);
}

/* ---- layout-conversion --------------------------------------------------- */

void rule_layout_conversion(advice *a, const advice_rule *rule)
{
    static const char *const words[] = { "nchwToNhwc", "nhwcToNchw",
                                         "NchwToNhwc", "NhwcToNchw",
                                         "nchw2nhwc",  "nhwc2nchw",
                                         NULL };
    answers known = answers_open(a);
    advice_mask mask = advice_mask_open(a);
    for (uint32_t i = 0; i < a->op_count; i++)
        if (is_named(a, &known, i, words)) advice_mask_add(a, &mask, i);
    advice_finding *const f = find_mask(a, rule, &mask);
    if (f) {
        advice_change(a, f, TS_CHANGE_REMOVE, &mask);
        ADVICE_SAY(a, f, title, "tensor layouts are converted back and forth");
        ADVICE_SAY(a, f, todo,
                   "Keep activations in the layout of the convolutions "
                   "(channels_last), starting at the input.");
        ADVICE_SAY(a, f, how, "replay without these kernels");
    }
    advice_mask_close(&mask);
    free(known.of);
}

/* ---- unfused-attention --------------------------------------------------- */

static const char *const multiply[] = { "gemm",    "Gemm", "GEMM",
                                        "cutlass", "xmma", "nvjet",
                                        "Cijk_",   "bmm",  NULL };
static const char *const softmax[] = { "softmax", "SoftMax", "Softmax", NULL };

// Returns the last operation that passes, at most `count` places before another
// on its stream; TS_NODE_NONE: none.
static uint32_t before_within(const advice *a, answers *known, uint32_t op,
                              uint32_t count, const char *const *words)
{
    for (uint32_t at = a->ops[op].before; at != TS_NODE_NONE && count--;
         at = a->ops[at].before)
        if (is_named(a, known, at, words)) return at;
    return TS_NODE_NONE;
}

// A softmax between two multiplications, with at most two kernels on either
// side.
void rule_unfused_attention(advice *a, const advice_rule *rule)
{
    answers products = answers_open(a), weights = answers_open(a);
    advice_mask mask = advice_mask_open(a);
    for (uint32_t i = 0; i < a->op_count; i++) {
        if (!is_named(a, &products, i, multiply)) continue;
        const uint32_t soft = before_within(a, &weights, i, 3, softmax);
        if (soft != TS_NODE_NONE &&
            before_within(a, &products, soft, 3, multiply) != TS_NODE_NONE)
            advice_mask_add(a, &mask, soft);
    }
    advice_finding *const f = find_mask(a, rule, &mask);
    if (f) {
        advice_change(a, f, TS_CHANGE_REMOVE, &mask);
        ADVICE_SAY(a, f, title,
                   "softmax between two multiplications is a separate kernel");
        ADVICE_SAY(a, f, todo,
                   "If this is attention, use a fused kernel "
                   "(scaled_dot_product_attention, flash attention), which "
                   "does not write the attention weights to memory.");
        ADVICE_SAY(a, f, how,
                   "replay without the softmax kernels; a fused kernel also "
                   "saves memory traffic of the multiplications");
        f->confidence = REPORT_MEDIUM;
    }
    advice_mask_close(&mask);
    free(products.of);
    free(weights.of);
}

/* ---- local-memory -------------------------------------------------------- */

void rule_local_memory(advice *a, const advice_rule *rule)
{
    advice_mask mask = advice_mask_open(a);
    const uint32_t least = (uint32_t)advice_limit(a, rule, "size");
    for (uint32_t i = 0; i < a->op_count; i++) {
        const ts_launch_entry *const l = advice_launch(a, i);
        if (is_kernel(a, i) && l && l->local && l->local >= least)
            advice_mask_add(a, &mask, i);
    }
    advice_finding *const f = find_mask(a, rule, &mask);
    if (f) {
        const ts_launch_entry *const l =
            advice_launch(a, f->evidence.operations[0]);
        ADVICE_SAY(a, f, title, "kernels use local memory");
        ADVICE_SAY(a, f, todo,
                   "The longest has %s per thread and %" PRIu32 " registers. "
                   "If registers are spilled, raise the limit (launch bounds, "
                   "maxrregcount) or split the kernel. If arrays are indexed "
                   "at run time, unroll the loops or keep the arrays in shared "
                   "memory.",
                   cli_bytes(l ? l->local : 0).s, l ? l->registers : 0);
        ADVICE_SAY(a, f, how,
                   "no gain computed: a trace does not show the cost of this "
                   "memory traffic");
        f->severity = REPORT_WARNING;
        f->confidence = REPORT_MEDIUM;
    }
    advice_mask_close(&mask);
}

/* ---- ragged-block -------------------------------------------------------- */

static uint64_t threads_of(const ts_launch_entry *l)
{
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++)
        threads *= l->block[i] && l->block[i] <= 1024 ? l->block[i] : 1;
    return threads;
}

void rule_ragged_block(advice *a, const advice_rule *rule)
{
    const uint64_t least = (uint64_t)advice_limit(a, rule, "empty");
    advice_mask mask = advice_mask_open(a);
    int64_t *const durations = calloc(a->op_count + 1, sizeof *durations);
    if (!durations) a->failed = true;
    for (uint32_t i = 0; durations && i < a->op_count; i++) {
        const int64_t length = advice_length(&a->ops[i]);
        durations[i] = length > 0 ? length : 0;
        const ts_launch_entry *const l = advice_launch(a, i);
        if (!is_kernel(a, i) || !l || !l->block[0]) continue;
        const uint64_t warp = a->devices[a->ops[i].device].warp
                                  ? a->devices[a->ops[i].device].warp
                                  : 32;
        const uint64_t threads = threads_of(l);
        const uint64_t full = (threads + warp - 1) / warp * warp;
        if ((full - threads) * 10000 < full * least) continue;
        durations[i] = calc_part_of(length, threads, full);
        advice_mask_add(a, &mask, i);
    }
    advice_finding *const f = durations ? find_mask(a, rule, &mask) : NULL;
    if (f) {
        const ts_launch_entry *const l =
            advice_launch(a, f->evidence.operations[0]);
        f->durations_ns = durations;
        f->at_most_ns = advice_path_of(a, &mask);
        ADVICE_SAY(a, f, title, "blocks do not fill their warps");
        ADVICE_SAY(a, f, todo,
                   "Make the block size a multiple of the warp size; the "
                   "longest kernel has blocks of %s threads.",
                   cli_count(l ? threads_of(l) : 0).s);
        ADVICE_SAY(a, f, how,
                   "replay in which all warps are full: an upper bound");
        f->confidence = REPORT_MEDIUM;
    } else {
        free(durations);
    }
    advice_mask_close(&mask);
}
