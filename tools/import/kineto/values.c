/*
    values.c - converts the values of a row
*/
#include "tools/import/kineto/kineto.h"

kineto_value kineto_find(const kineto_row *row, const char *key)
{
    const size_t size = strlen(key);
    for (size_t i = 0; i < row->arg_count; i++)
        if (row->args[i].key_size == size &&
            !memcmp(row->args[i].key, key, size))
            return row->args[i].value;
    const kineto_value none = { .type = KINETO_NONE };
    return none;
}

bool kineto_is(kineto_value value, const char *text)
{
    if (value.type != KINETO_TEXT || value.size != strlen(text)) return false;
    for (size_t i = 0; i < value.size; i++)
        if ((value.text[i] | 0x20) != (text[i] | 0x20)) return false;
    return true;
}

bool kineto_is_real(kineto_value value)
{
    return (value.type == KINETO_NUMBER || value.type == KINETO_TEXT) &&
           (memchr(value.text, '.', value.size) ||
            memchr(value.text, 'e', value.size) ||
            memchr(value.text, 'E', value.size));
}

// Parses the exponent after the "e"; false if it is none or too large.
static bool exponent(const char *text, size_t size, int *number)
{
    size_t i = size && (text[0] == '-' || text[0] == '+');
    if (i == size || size > 5) return false;
    for (*number = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        *number = *number * 10 + (text[i] - '0');
    }
    if (text[0] == '-') *number = -*number;
    return true;
}

// Divides by a power of ten and rounds half up.
static uint64_t shorten(uint64_t number, int zeros)
{
    uint64_t power = 1;
    if (zeros > 19) return 0;
    for (int i = 0; i < zeros; i++)
        power *= 10;
    return number / power + (number % power >= power / 2);
}

/*
    Uses the first 19 significant digits and a power of ten. A double would lose
    the nanoseconds of Unix times in microseconds.
*/
bool kineto_decimal(const char *text, size_t size, int scale, int64_t *number)
{
    const bool negative = size && text[0] == '-';
    uint64_t sum = 0;
    // Fast path: most numbers are a few digits.
    size_t digits = 0;
    for (; digits < size && digits < 16 && text[digits] >= '0' &&
           text[digits] <= '9';
         digits++)
        sum = sum * 10 + (uint64_t)(text[digits] - '0');
    if (digits == size && digits && (scale == 0 || scale == 3)) {
        *number = (int64_t)(scale ? sum * 1000 : sum);
        return true;
    }
    sum = 0;
    int kept = 0, power = 0;
    bool point = false, any = false, up = false, beyond = false;
    for (size_t i = negative; i < size; i++) {
        const char c = text[i];
        if ((c == 'e' || c == 'E') && any) {
            if (!exponent(text + i + 1, size - i - 1, &power)) return false;
            break;
        }
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9') return false;
        any = true;
        if (kept == 19) {
            up |= !beyond && c >= '5';
            beyond = true;
            scale += !point;
            continue;
        }
        sum = sum * 10 + (uint64_t)(c - '0');
        kept += sum > 0;
        scale -= point;
    }
    power += scale;
    if (power < 0) sum = shorten(sum, -power);
    sum += power == 0 && up;
    for (; power > 0 && sum; power--)
        if (__builtin_mul_overflow(sum, 10, &sum)) return false;
    if (!any || sum > INT64_MAX) return false;
    *number = negative ? -(int64_t)sum : (int64_t)sum;
    return true;
}

bool kineto_int(kineto_value value, int64_t *number)
{
    const char *text = value.text;
    size_t size = value.size;
    if (value.type != KINETO_NUMBER && value.type != KINETO_TEXT) return false;
    // "stream 7"
    const size_t word = sizeof "stream " - 1;
    if (size > word && !memcmp(text, "stream ", word)) {
        text += word;
        size -= word;
    }
    while (size && text[size - 1] == ' ')
        size--;
    if (kineto_decimal(text, size, 0, number)) return true;
    // Addresses can exceed the range of signed numbers.
    char *end, copy[24];
    if (!size || size >= sizeof copy || text[0] == '-') return false;
    memcpy(copy, text, size);
    copy[size] = 0;
    errno = 0;
    *number = (int64_t)strtoull(copy, &end, 0);
    return !*end && !errno;
}

bool kineto_double(kineto_value value, double *number)
{
    char *end, copy[64];
    if ((value.type != KINETO_NUMBER && value.type != KINETO_TEXT) ||
        !value.size || value.size >= sizeof copy)
        return false;
    memcpy(copy, value.text, value.size);
    copy[value.size] = 0;
    *number = strtod(copy, &end);
    return !*end && *number - *number == 0; // neither NaN nor infinite
}

size_t kineto_list(kineto_value value, int64_t *numbers, size_t count)
{
    size_t found = 0, from = 1;
    const bool is_list = value.type == KINETO_NESTED && value.size >= 2;
    for (size_t i = 1; is_list && i < value.size && found < count; i++) {
        const char c = value.text[i];
        if (c != ',' && c != ']') continue;
        if (!kineto_decimal(value.text + from, i - from, 0, &numbers[found]))
            return found;
        found++;
        from = i + 1;
    }
    return found;
}
