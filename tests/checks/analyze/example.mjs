// What ts-analyze says about a real trace, as a page of docs/examples:
//     node example.mjs NAME ANSWERS.json >NAME.md
import { readFileSync } from 'node:fs';

const [name, path] = process.argv.slice(2);
const { answers } = JSON.parse(readFileSync(path, 'utf8'));
const plain = (text) => String(text).replace(/\|/g, '\\|')
    .replace(/[<>*_`]/g, '\\$&');
const cut = (text) => text.length > 60 ? `${text.slice(0, 57)}...` : text;
const share = (part, whole) =>
    whole ? `${(100 * part / whole).toFixed(2)} %` : '-';
const table = (head, rows) => {
    if (!rows.length) return;
    console.log(`| ${head.join(' | ')} |`);
    console.log(`|${head.map(() => ' --- |').join('')}`);
    for (const row of rows) console.log(`| ${row.join(' | ')} |`);
    console.log();
};
const rows = (question, key) => answers[question]?.tables[key]?.rows ?? [];

console.log(`# ${name}\n`);
console.log('Made by `tests/checks/analyze.sh` from the trace, which ' +
    'compares it with what is here;\nsums are compared with those of the ' +
    'source, computed by other means. Times are ns.\n');
table(['question', 'answer', 'confidence'],
    Object.values(answers).map((a) =>
        [a.title, plain(a.answer), a.confidence ?? '-']));
console.log('## Devices\n');
table(['device', 'work', 'span', 'busy', 'of span', 'idle', 'kernels',
    'collectives', 'exposed', 'copies'],
    rows('summary', 'devices').map((d) => [d.device, d.operations, d.span_ns,
        d.busy_ns, share(d.busy_ns, d.span_ns), d.idle_ns, d.kernel_ns,
        d.collective_ns, d.exposed_ns, d.copy_ns]));
console.log('## Idle time\n');
table(['cause', 'time', 'of idle', 'gaps', 'longest'],
    rows('summary', 'idle').map((c) => [c.cause, c.idle_ns,
        `${(100 * c.share).toFixed(2)} %`, c.gaps, c.longest_ns ?? '-']));
console.log('## Kernels, first ten\n');
table(['kernel', 'count', 'time', 'share', 'p50', 'p95', 'longest'],
    rows('kernels', 'names').slice(0, 10).map((k) => [plain(cut(k.name)),
        k.count, k.total_ns, `${(100 * k.share).toFixed(2)} %`, k.p50_ns,
        k.p95_ns, k.max_ns]));
if (rows('copies', 'kinds').length) console.log('## Copies\n');
table(['kind', 'count', 'bytes', 'time'],
    rows('copies', 'kinds').map((c) =>
        [c.name, c.count, c.bytes, c.total_ns]));
