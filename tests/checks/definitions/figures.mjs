// What the scripts of this folder share: queries of docs/definitions.md, run on
// an import, and comparisons.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

export const json = (name) => JSON.parse(readFileSync(name, 'utf8'));

const page = readFileSync('docs/definitions.md', 'utf8');
const part = (title) => page.split(`\n## ${title}\n`)[1].split('\n## ')[0];

// The rows of the nth query below a title of the page.
export const query = (trace, title, nth = 0) => {
    const sql = part(title).split('```sql\n')[nth + 1].split('```')[0];
    return JSON.parse(execFileSync('build/ts-query', ['--json', trace, sql],
        { maxBuffer: 1 << 28 })).results[0].rows;
};

let failures = 0;
export const same = (what, got, want, off = 0) => {
    if (got === want || Math.abs(got - want) <= off) return;
    console.log(`${what}: ${got}, and ${want} by its definition`);
    failures++;
};
// Rows that a key tells apart, on both sides with the same columns.
export const sameRows = (what, got, want, key, off = () => 0) => {
    const rows = new Map(got.map((row) => [key(row), row]));
    same(`${what}: rows`, got.length, want.length);
    for (const row of want)
        for (const [name, value] of Object.entries(row))
            same(`${what}: ${name} of ${key(row)}`,
                rows.get(key(row))?.[name], value, off(name, value));
};
export const done = () => process.exit(failures ? 1 : 0);

export const sum = (list) => list.reduce((a, b) => a + b, 0);
export const by = (list, key) => {
    const groups = new Map();
    for (const item of list) {
        if (!groups.has(key(item))) groups.set(key(item), []);
        groups.get(key(item)).push(item);
    }
    return groups;
};
// Time in which any of the spans runs.
export const union = (spans) => {
    let total = 0, until = -Infinity;
    for (const { start, end } of [...spans].sort((a, b) => a.start - b.start)) {
        total += Math.max(0, end - Math.max(start, until));
        until = Math.max(until, end);
    }
    return total;
};
export const window = (spans) => sum([
    spans.reduce((a, s) => Math.max(a, s.end), -Infinity),
    -spans.reduce((a, s) => Math.min(a, s.start), Infinity)]);

// Count, sum and the like of durations, as pandas and nsys define them.
export const statistics = (ns) => {
    const sorted = [...ns].sort((a, b) => a - b), n = sorted.length;
    const mean = sum(sorted) / n;
    return { count: n, sum: sum(sorted), min: sorted[0], max: sorted[n - 1],
        mean, std: n < 2 ? 0
            : Math.sqrt(sum(sorted.map((x) => (x - mean) ** 2)) / (n - 1)),
        lower: sorted[(n - 1) >> 1],
        median: (sorted[(n - 1) >> 1] + sorted[n >> 1]) / 2 };
};

// Whether the rows of a table of ts-analyze are these groups of durations.
export const sameTable = (what, rows, groups) => {
    const found = new Map(rows.map((row) => [row.name, row]));
    const all = sum([...groups.values()].map(sum));
    same(`${what}: names`, found.size, groups.size);
    for (const [name, ns] of groups) {
        const row = found.get(name) ?? {}, want = statistics(ns);
        const told = (key, value, off) =>
            same(`${what}: ${key} of ${name}`, row[key], value, off);
        told('count', want.count);
        told('total_ns', want.sum);
        told('min_ns', want.min);
        told('max_ns', want.max);
        told('mean_ns', Math.floor(want.mean));
        told('p50_ns', want.lower);
        told('share', all ? want.sum / all : 0, 1e-9);
    }
};

// The first line of ts-analyze: what was recorded, and when devices worked.
const seconds = (ns) => `${(Math.floor(ns / 1000) / 1e6).toFixed(6)} s`;
export const sameWindow = (trace, spans, origin) => {
    const line = execFileSync('build/ts-analyze', ['--only', 'copies', trace],
        { env: { ...process.env, COLUMNS: '400' } }).toString().split('\n')[0];
    const from = Math.min(...spans.map((s) => s.start)) - origin;
    const to = Math.max(...spans.map((s) => s.end)) - origin;
    if (!line.endsWith(`, from ${seconds(from)} to ${seconds(to)}`) ||
        !/: [^;]* recorded, from [0-9.]* s to [0-9.]* s; devices worked for/
            .test(line))
        same('the first line', line, `from ${seconds(from)} to ${seconds(to)}`);
};
