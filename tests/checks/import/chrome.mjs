// How many zones, spans, marks and counters a trace of Chrome's JSON holds, by
// rules of its own, against what ts-import --json says:
//     node chrome.mjs TRACE.json IMPORTED.json
import { readFileSync } from 'node:fs';

const [source, imported] = process.argv.slice(2);
const read = (path) => JSON.parse(readFileSync(path, 'utf8'));
const { traceEvents: rows } = read(source);
const { events, rows: counted, bad } = read(imported).outputs[0];

const wanted = { zone: 0, zone_open: 0, zone_arg: 0, span: 0, mark: 0,
    counter: 0 };
const values = (args) =>
    Object.values(args ?? {}).filter((v) => v !== null).length;
const open = new Map(); // thread -> args of its open zones
let ends = 0; // without a begin
for (const { ph, pid, tid, args } of rows) {
    const thread = `${pid} ${tid}`;
    if (!open.has(thread)) open.set(thread, []);
    const stack = open.get(thread);
    if (ph === 'X') {
        wanted.zone++;
        wanted.zone_arg += values(args);
    } else if (ph === 'B') {
        stack.push(values(args));
    } else if (ph === 'E' && !stack.length) {
        ends++;
    } else if (ph === 'E') {
        wanted.zone++;
        wanted.zone_arg += stack.pop() + values(args);
    } else if (ph === 'b' || ph === 'e') {
        wanted.span++;
    } else if (ph === 'i' || ph === 'I' || ph === 'n' || ph === 'R') {
        wanted.mark++;
    } else if (ph === 'C') {
        wanted.counter += values(args);
    } else if (ph !== 'M') {
        throw new Error(`a row of phase ${ph}`);
    }
}
for (const stack of open.values()) wanted.zone_open += stack.length;

let differences = 0;
const compare = (what, want, have) => {
    if (want === have) return;
    differences++;
    console.log(`${what}: ${want} in the source, ${have} imported`);
};
for (const [kind, count] of Object.entries(wanted))
    compare(kind, count, events[kind] ?? 0);
compare('rows', rows.length, counted);
compare('ends alone', ends, bad.end_without_begin ?? 0);
console.log(`${rows.length} rows compared, ${differences} differences`);
process.exit(differences || !rows.length ? 1 : 0);
