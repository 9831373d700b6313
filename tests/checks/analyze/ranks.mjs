// Whether `ts-analyze --json` says of ranks what follows from their sources,
// JSON of the PyTorch profiler, in which all ranks have the same collectives
// in the same order:
//     node ranks.mjs ANSWERS.json TRACE.json...
// The clocks are put together by the median difference of the ends.
import { readFileSync } from 'node:fs';

const read = (name) => JSON.parse(readFileSync(name, 'utf8'));
const { answers } = read(process.argv[2]);
const ranks = [];
for (const name of process.argv.slice(3)) {
    const trace = read(name);
    ranks[trace.distributedInfo.rank] = trace.traceEvents
        .filter((r) => r.ph === 'X' && /^nccl/.test(r.name) &&
            r.cat.toLowerCase() === 'kernel')
        .map((r) => ({ start: r.ts, end: r.ts + r.dur })) // whole us
        .sort((a, b) => a.start - b.start);
}
const median = (list) =>
    list.sort((a, b) => a - b)[Math.floor((list.length - 1) / 2)];
const moved = ranks.map((list) =>
    median(list.map((c, i) => ranks[0][i].end - c.end)));
const waited = ranks.map(() => 0), caused = ranks.map(() => 0);
for (const i of ranks[0].keys()) {
    const arrivals = ranks.map((list, r) => list[i].start + moved[r]);
    const last = Math.max(...arrivals);
    arrivals.forEach((time, r) => {
        waited[r] += last - time;
        caused[arrivals.indexOf(last)] += last - time;
    });
}
const rows = answers.ranks.tables.ranks.rows;
rows.forEach((row, r) => {
    if (row.waited_ns !== waited[r] * 1000 ||
        row.caused_ns !== caused[r] * 1000)
        throw new Error(`rank ${r}: waited ${row.waited_ns}, caused ` +
            `${row.caused_ns}; in the source ${waited[r]} us, ${caused[r]} us`);
});
