// A memory snapshot of PyTorch against the trace that ts-import made of it:
//     node snapshot.mjs make FILE          writes one, as pickle.dump would
//     node snapshot.mjs compare TRACE.sbt
// Each allocation and release must be in the trace with its time, address, size
// and innermost function, and nothing else.
import { writeFileSync } from 'node:fs';
import { Rows, ask } from './rows.mjs';

const [task, file] = process.argv.slice(2);

let state = 99;
const random = (below) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state % below;
};
const base = 1_700_000_000_000_000;
const lists = [...Array(20).keys()].map((i) => [
    { filename: 'model.py', line: 10 + i, name: `layer${i}` },
    { filename: 'train.py', line: 3, name: 'main' }]);
const rows = []; // [time, kind, address, size, function]
const traces = [0, 1].map((device) => {
    const live = [], entries = [];
    let at = 0x7f0000000000 + device * 2 ** 40;
    for (let i = 0; i < 3000; i++) {
        const time_us = base + i * 7 + device;
        const frames = lists[random(20)];
        const add = (action, addr, size) => entries.push(
            { action, addr, size, stream: 0, time_us, frames });
        if (live.length && random(2)) {
            const [addr, size] = live.splice(random(live.length), 1)[0];
            add('free_requested', addr, size);
            add('free_completed', addr, size);
            rows.push([time_us, 'free', addr, null, null]);
        } else {
            const size = 512 * (1 + random(1000));
            live.push([at, size]);
            add('alloc', at, size);
            rows.push([time_us, 'alloc', at, size, frames[0].name]);
            at += size;
        }
    }
    return entries;
});
const old = { address: 0x7e0000000000, size: 4096, state: 'active_allocated',
    frames: lists[0] };
rows.push([base, 'alloc', old.address, old.size, 'layer0']);
const segments = [{ address: old.address, total_size: 2 ** 21, device: 0,
    blocks: [old] }];

/* ---- Making ------------------------------------------------------------- */

// Protocol 4, with a memo for what is used again.
function pickle(top) {
    const parts = [Buffer.from([0x80, 4])], memo = new Map();
    const out = (...bytes) => parts.push(Buffer.from(bytes));
    const write = (value) => {
        if (memo.has(value)) {
            const number = Buffer.alloc(5, 'j');
            number.writeUInt32LE(memo.get(value), 1);
            parts.push(number);
            return;
        }
        if (typeof value === 'number') {
            const number = Buffer.alloc(10);
            number.writeUInt8(0x8a, 0);
            number.writeUInt8(8, 1);
            number.writeBigInt64LE(BigInt(value), 2);
            parts.push(number);
            return;
        }
        const isText = typeof value === 'string';
        if (isText) {
            out(0x8c, value.length);
            parts.push(Buffer.from(value));
        } else {
            out(...Buffer.from(Array.isArray(value) ? ']' : '}'));
        }
        out(0x94);
        memo.set(value, memo.size);
        if (isText) return;
        out(...Buffer.from('('));
        if (Array.isArray(value)) value.forEach(write);
        else Object.entries(value).flat().forEach(write);
        out(...Buffer.from(Array.isArray(value) ? 'e' : 'u'));
    };
    write(top);
    out(...Buffer.from('.'));
    return Buffer.concat(parts);
}

/* ---- Comparing ---------------------------------------------------------- */

function compare() {
    const start = Math.min(...rows.map(([time]) => time));
    const both = new Rows();
    for (const [time, ...rest] of rows)
        both.want([(time - start) * 1000, ...rest]);
    const found = ask(file, `SELECT time_ns, event, address, size, (SELECT f.function FROM
            stack_frame f WHERE f.stack = m.stack AND f.depth = 0) AS name
            FROM memory m`);
    for (const row of found) both.find(Object.values(row));
    both.end();
}

if (task === 'make')
    writeFileSync(file, pickle({ segments, device_traces: traces }));
else compare();
