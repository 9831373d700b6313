/*
    flops.c - parses the FLOPs of launches and matrix products
*/
#include "tools/analyze/figures/operations/roofline.h"

/* ---- Rules --------------------------------------------------------------- */

// Parses "1500", "2.5G", with up to six decimals; exact.
static const char *read_number(const char *text, uint64_t *number)
{
    static const char units[] = "kMGTP";
    uint64_t value = 0, scale = 1000000;
    int digits = 0;
    for (; *text >= '0' && *text <= '9'; text++, digits++)
        if (digits < 12) value = value * 10 + (uint64_t)(*text - '0');
    if (!digits || digits > 12) return NULL;
    value *= scale;
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9' && scale > 1; text++) {
            scale /= 10;
            value += (uint64_t)(*text - '0') * scale;
        }
    const char *const unit = *text ? strchr(units, *text) : NULL;
    uint64_t thousands = 1;
    for (const char *u = units; unit && u <= unit; u++)
        thousands *= 1000;
    if (value > INT64_MAX / thousands) return NULL;
    *number = value * thousands / 1000000;
    return unit ? text + 1 : text;
}

static const char *read_amount(const char *text, uint64_t *number,
                               roofline_per *per)
{
    static const char *const pers[] = { "", "/thread", "/block" };
    text = read_number(text, number);
    *per = ROOFLINE_LAUNCH;
    for (int i = 1; text && i < 3; i++)
        if (!strncmp(text, pers[i], strlen(pers[i]))) {
            *per = (roofline_per)i;
            return text + strlen(pers[i]);
        }
    return text;
}

// Returns why an amount is invalid.
static const char *wrong_amount(const char *text)
{
    char *end;
    const double value = strtod(text, &end);
    return end != text && value >= 1e12
               ? "the number is too large"
               : "the text after = is not a number such as 1500, 2.5G or "
                 "3/thread";
}

bool roofline_rule_read(roofline_rule *rule, const char *text)
{
    const char *const equal = strrchr(text, '=');
    cli_text why;
    memset(rule, 0, sizeof *rule);
    rule->wrong = "must be REGEX=FLOPS or REGEX=FLOPS,BYTES";
    if (!equal || equal == text) return false;
    const char *at = equal + 1;
    const char *end = read_amount(at, &rule->flops, &rule->flops_per);
    if (end && *end == ',') {
        at = end + 1;
        end = read_amount(at, &rule->bytes, &rule->bytes_per);
    }
    rule->wrong = wrong_amount(at);
    if (!end || *end) return false;
    rule->wrong = "the regular expression is invalid";
    if (!cli_regex_open(&rule->regex, text, (size_t)(equal - text), &why))
        return false;
    rule->wrong = NULL;
    return true;
}

void roofline_rule_close(roofline_rule *rule)
{
    regfree(&rule->regex);
}

/* ---- Matrix products ----------------------------------------------------- */

enum { DIMS_MOST = 4, ARGUMENTS_MOST = 4 };

typedef struct shape {
    uint64_t dims[DIMS_MOST];
    size_t count;
} shape;

// Parses a dimension; false if there is none, or it is unrealistically large.
static bool read_dim(const char **at, const char *end, uint64_t *dim)
{
    const char *p = *at;
    *dim = 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        *dim = *dim * 10 + (uint64_t)(*p - '0');
        if (*dim > 1u << 30) return false;
    }
    const bool any = p > *at;
    *at = p;
    return any;
}

// Parses the shapes of the first arguments, such as
// "[[888,2880],[2880,640],[]]".
static size_t read_shapes(ts_text text, shape *shapes)
{
    const char *p = text.text, *const end = p + text.size;
    size_t count = 0;
    int depth = 0;
    for (; p < end && count < ARGUMENTS_MOST; p++) {
        if (*p == '[' && ++depth == 2) {
            shapes[count].count = 0;
        } else if (*p == ']') {
            if (depth-- == 2) count++;
        } else if (*p >= '0' && *p <= '9') {
            uint64_t dim;
            if (!read_dim(&p, end, &dim)) return 0;
            p--;
            if (depth == 2 && shapes[count].count < DIMS_MOST)
                shapes[count].dims[shapes[count].count++] = dim;
            else
                // A list of tensors, which no known operator takes.
                return count;
        }
    }
    return count;
}

// Returns the bytes per element of an argument that is a tensor; 0: unknown.
static uint64_t element_size(ts_text types, size_t argument)
{
    static const struct {
        const char *text;
        uint64_t size;
    } known[] = {
        { "float", 4 },         { "double", 8 }, { "c10::Half", 2 },
        { "c10::BFloat16", 2 }, { "int", 4 },    { "signed char", 1 },
        { "unsigned char", 1 }, { "long", 8 },   { "c10::Float8_e4m3fn", 1 }
    };
    const char *p = types.text, *const end = p + types.size;
    size_t quote = 0;
    for (; p < end && quote <= 2 * argument; p++)
        if (*p == '"') quote++;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const size_t size = strlen(known[i].text);
        if ((size_t)(end - p) > size && !memcmp(p, known[i].text, size) &&
            p[size] == '"')
            return known[i].size;
    }
    return 0;
}

uint64_t roofline_times(uint64_t a, uint64_t b)
{
    return b && a > INT64_MAX / b ? INT64_MAX : a * b;
}

bool roofline_product_of(roofline_product *p, ts_text name, ts_text dims,
                         ts_text types)
{
    shape shapes[ARGUMENTS_MOST] = { 0 };
    const bool added =
        cli_is_text(name, "aten::addmm") || cli_is_text(name, "aten::baddbmm");
    const bool batch =
        cli_is_text(name, "aten::bmm") || cli_is_text(name, "aten::baddbmm");
    const size_t count = read_shapes(dims, shapes), rank = batch ? 3 : 2;
    memset(p, 0, sizeof *p);
    if (count < (added ? 3u : 2u)) return false;
    const shape *const a = &shapes[added], *const b = &shapes[added + 1];
    if (a->count != rank || b->count != rank) return false;
    const uint64_t batch_count = batch ? a->dims[0] : 1;
    const uint64_t m = a->dims[rank - 2], k = a->dims[rank - 1];
    const uint64_t n = b->dims[rank - 1];
    if (b->dims[rank - 2] != k || (batch && b->dims[0] != batch_count))
        return false;
    p->flops = roofline_times(roofline_times(roofline_times(2 * m, n), k),
                              batch_count);
    const uint64_t elements = m * k + k * n + m * n;
    p->bytes = roofline_times(roofline_times(elements, batch_count),
                              element_size(types, added));
    const cli_text of =
        batch ? cli_format("%" PRIu64 "x ", batch_count) : cli_format("%s", "");
    snprintf(p->text, sizeof p->text, "%s%" PRIu64 "x%" PRIu64 "x%" PRIu64,
             of.s, m, k, n);
    return true;
}
