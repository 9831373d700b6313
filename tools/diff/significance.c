/*
    significance.c - tests whether samples differ by more than noise
*/
#include "tools/diff/diff.h"

__extension__ typedef unsigned __int128 wide;

// Probability, in DIFF_CERTAIN, that the absolute value of a normal deviate
// exceeds i / 20: erfc(i / 20 / sqrt(2)).
enum { STEPS = 160 };
static const uint64_t tails[STEPS + 1] = {
    1000000000000,
    960122388323,
    920344325446,
    880764615260,
    841480581122,
    802587348634,
    764177155622,
    726338697649,
    689156516779,
    652710440576,
    617075077452,
    582319373577,
    548506235500,
    515692221612,
    483927304446,
    453254704754,
    423710797167,
    395325086245,
    368120250694,
    342112252617,
    317310507863,
    293718112752,
    271332121893,
    250143871274,
    230139340443,
    211299547334,
    193600969171,
    177015982875,
    161513318468,
    147058519219,
    133614402538,
    121141516004,
    109598583399,
    98942936067,
    89130925517,
    80118313728,
    71860638226,
    64313549591,
    57433119632,
    51176119043,
    45500263896,
    40364430811,
    35728841126,
    31555214782,
    27806895027,
    24448945310,
    21448220043,
    18773411070,
    16395071849,
    14285621471,
    12419330652,
    10772291908,
    9322376047,
    8049177086,
    6933947606,
    5959526470,
    5110260661,
    4371922910,
    3731626601,
    3177739295,
    2699796063,
    2288413662,
    1935206426,
    1632704626,
    1374275876,
    1154050085,
    966848285,
    808115604,
    673858531,
    560586554,
    465258158,
    385231151,
    318217180,
    262240309,
    215599467,
    176834570,
    144696088,
    118117825,
    96192688,
    78151193,
    63342484,
    51217633,
    41315014,
    33247527,
    26691498,
    21377052,
    17079811,
    13613753,
    10825088,
    8587029,
    6795346,
    5364592,
    4224909,
    3319350,
    2601615,
    2034166,
    1586656,
    1234615,
    958367,
    742135,
    573303,
    441810,
    339653,
    260486,
    199289,
    152099,
    115803,
    87954,
    66641,
    50370,
    37979,
    28567,
    21435,
    16045,
    11981,
    8924,
    6631,
    4916,
    3635,
    2681,
    1973,
    1448,
    1061,
    775,
    565,
    410,
    298,
    215,
    155,
    112,
    80,
    58,
    41,
    29,
    21,
    15,
    10,
    7,
    5,
    4,
    3,
    2,
    1,
    1,
    1,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
};

static uint64_t root(wide value)
{
    wide low = 0, high = UINT64_MAX;
    while (low < high) {
        const wide middle = low + (high - low + 1) / 2;
        if (middle * middle <= value)
            low = middle;
        else
            high = middle - 1;
    }
    return (uint64_t)low;
}

// Returns the probability for a deviate in thousandths of a twentieth.
static uint64_t tail_of(uint64_t deviate)
{
    const uint64_t at = deviate / 1000, rest = deviate % 1000;
    if (at >= STEPS) return tails[STEPS];
    return tails[at] - (tails[at] - tails[at + 1]) * rest / 1000;
}

uint64_t diff_tail(double square)
{
    if (!(square < 64)) return tails[STEPS];
    return tail_of(root((wide)(square * 400000000)));
}

static int by_value(const void *left, const void *right)
{
    const int64_t *const a = left, *const b = right;
    return (*a > *b) - (*a < *b);
}

// Returns twice the sum of the ranks of `a` among all samples. *ties receives
// the sum of t^3 - t over values that t samples share.
static uint64_t rank_sum(const int64_t *a, size_t a_count, const int64_t *b,
                         size_t b_count, wide *ties)
{
    size_t i = 0, j = 0;
    uint64_t sum = 0;
    *ties = 0;
    while (i < a_count || j < b_count) {
        const int64_t value =
            j == b_count || (i < a_count && a[i] <= b[j]) ? a[i] : b[j];
        const size_t before = i + j, own = i;
        while (i < a_count && a[i] == value)
            i++;
        while (j < b_count && b[j] == value)
            j++;
        const wide t = i + j - before;
        *ties += t * t * t - t;
        // Tied samples have the ranks before + 1 to i + j and count with their
        // mean.
        sum += (i - own) * (uint64_t)(before + 1 + i + j);
    }
    return sum;
}

uint64_t diff_u_test(int64_t *a, size_t a_count, int64_t *b, size_t b_count,
                     int *toward)
{
    *toward = 0;
    if (!a_count || !b_count) return DIFF_CERTAIN;
    qsort(a, a_count, sizeof *a, by_value);
    qsort(b, b_count, sizeof *b, by_value);
    const uint64_t m = a_count, n = b_count, all = m + n;
    wide ties;
    // |2 U - m n|, where 2 U = 2 R - m (m + 1); at most m n.
    const uint64_t ranks = rank_sum(a, a_count, b, b_count, &ties);
    const uint64_t twice = ranks - m * (m + 1);
    const uint64_t off = twice > m * n ? twice - m * n : m * n - twice;
    // Whether a has the low ranks or the high ones.
    *toward = (twice < m * n) - (twice > m * n);
    const wide spread = (wide)(all + 1) * all * (all - 1) - ties;
    if (off <= 1 || !spread) return DIFF_CERTAIN;
    // z^2 = 3 (off - 1)^2 N (N - 1) / (m n ((N + 1) N (N - 1) - ties))
    const wide above = (wide)3 * (off - 1) * (off - 1) * all * (all - 1);
    const wide below = (wide)m * n * spread;
    // In units of (1 / 20000)^2. There are few enough samples that nothing
    // overflows.
    if (above / below >= 64) return tails[STEPS];
    const wide scale = 400000000;
    return tail_of(root(above * scale / below));
}

/* ---- Multiple tests ----------------------------------------------------- */

typedef struct ranked_p {
    uint64_t p;
    size_t index;
} ranked_p;

static int by_p(const void *left, const void *right)
{
    const ranked_p *const a = left, *const b = right;
    if (a->p != b->p) return a->p < b->p ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

bool diff_adjust(const uint64_t *p, uint64_t *adjusted, size_t count)
{
    ranked_p *const order = malloc((count + 1) * sizeof *order);
    uint64_t least = DIFF_CERTAIN;
    if (!order) return false;
    for (size_t i = 0; i < count; i++)
        order[i] = (ranked_p){ p[i], i };
    qsort(order, count, sizeof *order, by_p);
    for (size_t i = count; i-- > 0;) {
        const wide scaled = (wide)order[i].p * count / (i + 1);
        if (scaled < least) least = (uint64_t)scaled;
        adjusted[order[i].index] = least;
    }
    free(order);
    return true;
}

bool diff_alpha_read(const cli_tool *tool, const char *text, uint64_t *alpha)
{
    uint64_t value = 0, unit = DIFF_CERTAIN / 100;
    *alpha = DIFF_CERTAIN / 20;
    if (!text) return true;
    const char *s = text;
    for (; *s >= '0' && *s <= '9' && value <= 100; s++)
        value = value * 10 + (uint64_t)(*s - '0');
    bool ok = s > text && value <= 100;
    value *= unit;
    if (ok && *s == '.')
        for (ok = s[1] >= '0' && s[1] <= '9'; *++s >= '0' && *s <= '9';)
            value += (unit /= 10) * (uint64_t)(*s - '0');
    *alpha = value;
    if (ok && !strcmp(s, "%") && value && value < DIFF_CERTAIN) return true;
    return cli_fail(tool, TS_ERR_USAGE, NULL,
                    "--alpha %s: must be a share above 0 %% and below 100 %%, "
                    "such as 1%%",
                    text);
}
