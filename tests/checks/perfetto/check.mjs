// check.mjs - does Perfetto find in an export all that the trace holds?
//
//   node check.mjs FOLDER LIST EXPORT...
//
// LIST is what tests/checks/perfetto/list.c prints. Everything is compared: slices
// and instants with name, category, exact start and duration, arguments;
// samples; arrows by both of their ends. Nothing may be left over.

import fs from 'node:fs';
import { ERRORS, TraceProcessor } from './tp.mjs';

const [folder, list, ...exports] = process.argv.slice(2);
const SHOWN = 5;

const unhex = (text) => Buffer.from(text, 'hex').toString();

/* ---- Arguments ---------------------------------------------------------- */

// One text for one value, whatever wrote it down: integers modulo 2^64,
// other numbers as JavaScript prints them.
function canonicalValue(text) {
    if (/^-?\d+$/.test(text))
        return BigInt.asUintN(64, BigInt(text)).toString();
    if (/^-?[\d.]+(e[-+]?\d+)?$/.test(text)) return Number(text).toString();
    return text;
}

function canonicalArgs(pairs) {
    return pairs.map(([key, value]) => `${key}=${canonicalValue(value)}`)
        .sort().join('\x1f');
}

function splitArgs(text) {
    return text.split('\x1f').slice(0, -1).map((pair) => {
        const at = pair.indexOf('=');
        return [pair.slice(0, at), pair.slice(at + 1)];
    });
}

function argOf([key, type, int, string, real]) {
    const name = key.replace(/^(debug|args)\./, '');
    const hex = () => `0x${BigInt.asUintN(64, BigInt(int)).toString(16)}`;
    const value = type === 'pointer' ? hex()
        : type === 'bool' ? (int ? 'true' : 'false')
            : String(string ?? real ?? int);
    return [name, value];
}

function loadArgs(processor) {
    const sets = new Map();
    const sql = `select arg_set_id, key, value_type, int_value, string_value,
        real_value from args order by id`;
    for (const [set, ...cells] of processor.query(sql).rows) {
        const ours = /^(debug|args)\./.test(cells[0]) ||
            /^source\.(file_name|function_name|line_number)$/.test(cells[0]);
        if (!ours) continue;
        if (!sets.has(set)) sets.set(set, []);
        sets.get(set).push(argOf(cells));
    }
    return sets;
}

/* ---- Both sides as texts ------------------------------------------------ */

// The trace processor has doubles only.
function sampleValue(text) {
    return String(Number(text.replace(/^(-?)inf$/, '$1Infinity')));
}

// A sample that is no number is an instant in JSON.
function wantedSample(time, name, text, isJson) {
    const value = sampleValue(text);
    if (isJson && !Number.isFinite(Number(value)))
        return `S ${time} 0 ${name} [] value=${value}`;
    return `C ${time} ${name} ${value}`;
}

// The trace processor turns arrows that go back in time.
function wantedArrow(from, tail, to, head) {
    return BigInt(from) <= BigInt(to) ? `F ${from} ${tail} -> ${to} ${head}`
        : `F ${to} ${head} -> ${from} ${tail}`;
}

function wanted(isJson) {
    const lines = [], counters = new Set();
    for (const line of fs.readFileSync(list, 'utf8').split('\n')) {
        if (!line) continue;
        const [type, time, duration, ...texts] = line.split('\t');
        const [name, category, args, place] = texts.map(unhex);
        if (type === 'C') {
            lines.push(wantedSample(time, name, args, isJson));
            counters.add(name);
        } else if (type === 'F') {
            const [head, at] = args.split('\x1f');
            lines.push(wantedArrow(time, name, at, head));
        } else {
            lines.push(`S ${time} ${duration} ${name} [${category}] ` +
                `${isJson ? '' : `on ${place} `}` +
                canonicalArgs(splitArgs(args)));
        }
    }
    return { lines: lines.sort(), counters };
}

// In JSON a counter is called "PARENT: NAME UNIT".
function counterName(name, counters) {
    for (const own of counters) {
        const at = name.lastIndexOf(own);
        const rest = name.slice(at + own.length);
        const head = name.slice(0, at);
        if (at >= 0 && rest.lastIndexOf(' ') === 0 &&
            (!head || head.endsWith(': ')))
            return own;
    }
    return name;
}

function sampleLines(processor, isJson, counters) {
    const sql = `select c.ts, t.name, c.value from counter c
        join counter_track t on c.track_id = t.id`;
    return processor.query(sql).rows.map(([time, name, value]) => {
        const own = isJson ? counterName(name, counters) : name;
        return `C ${time} ${own} ${sampleValue(String(value))}`;
    });
}

// Slices' stacks, innermost frame first, as JSON has them for an argument.
function loadStacks(processor) {
    const sites = new Map(processor.query(`select c.id, c.parent_id, f.name
        from stack_profile_callsite c
        join stack_profile_frame f on c.frame_id = f.id`).rows
        .map(([id, parent, name]) => [id, { parent, name }]));
    return new Map(processor.query(`select slice_id, callsite_id
        from __intrinsic_track_event_callstacks`).rows.map(([slice, from]) => {
        const names = [];
        for (let at = sites.get(from); at; at = sites.get(at.parent))
            names.push(at.name);
        return [slice, names.join(';')];
    }));
}

// Where each track lies: "PARENT/NAME", or a thread's name, which further
// tracks of the thread have too.
function loadPlaces(processor) {
    const sql = `select t.id, coalesce(t.name, ''), coalesce(p.name, ''),
        th.name from track t left join track p on t.parent_id = p.id
        left join thread_track tt on tt.id = t.id
        left join thread th using (utid)`;
    return new Map(processor.query(sql).rows.map(
        ([id, name, parent, thread]) => {
            if (thread === null) return [id, `${parent}/${name}`];
            const own = name && name !== thread ? `/${name}` : '';
            return [id, `${thread}${own}`];
        }));
}

// Spans in JSON are all of one category; their own is an argument.
function spanCategory(args) {
    const own = args.find(([key]) => key === 'category');
    return [own?.[1] ?? '', args.filter((arg) => arg !== own)];
}

function sliceLines(processor, isJson) {
    const sets = loadArgs(processor);
    const stacks = loadStacks(processor);
    const places = loadPlaces(processor);
    const sql = `select id, ts, dur, coalesce(name, ''),
        coalesce(category, ''), arg_set_id, track_id from slice`;
    return processor.query(sql).rows.map(
        ([id, time, duration, name, category, set, track]) => {
            let args = [...sets.get(set) ?? []];
            if (stacks.has(id)) args.push(['stack', stacks.get(id)]);
            if (isJson && category === 'span' && !name.startsWith(category))
                [category, args] = spanCategory(args);
            return `S ${time} ${duration} ${name} [${category}] ` +
                `${isJson ? '' : `on ${places.get(track)} `}` +
                canonicalArgs(args);
        });
}

function arrowLines(processor) {
    const sql = `select o.ts, o.name, i.ts, i.name from flow f
        join slice o on o.id = f.slice_out join slice i on i.id = f.slice_in`;
    const plain = (name) => name.replace(/^flow (start|step|end)$/, 'flow');
    return processor.query(sql).rows.map(([from, tail, to, head]) =>
        `F ${from} ${plain(tail)} -> ${to} ${plain(head)}`);
}

/* ---- Comparing ---------------------------------------------------------- */

function differences(wantedLines, foundLines) {
    const missing = [], extra = [];
    let w = 0, f = 0;
    while (w < wantedLines.length || f < foundLines.length) {
        const a = wantedLines[w], b = foundLines[f];
        if (a === b) w++, f++;
        else if (b === undefined || a < b) missing.push(a), w++;
        else extra.push(b), f++;
    }
    return { missing, extra };
}

async function check(file) {
    const isJson = /\.json(\.gz)?$/.test(file);
    const processor = await TraceProcessor.start(folder);
    processor.load(file);
    const errors = processor.query(ERRORS).rows;
    const { lines, counters } = wanted(isJson);
    const { missing, extra } = differences(lines, [
        ...sliceLines(processor, isJson),
        ...sampleLines(processor, isJson, counters),
        ...arrowLines(processor)].sort());
    const bad = errors.length + missing.length + extra.length;
    console.log(`${bad ? 'FAIL' : 'ok'}  ${file}`);
    for (const error of errors) console.log(`  import error: ${error}`);
    for (const [what, lines] of [['missing', missing], ['extra', extra]]) {
        for (const line of lines.slice(0, SHOWN))
            console.log(`  ${what}: ${JSON.stringify(line)}`);
        if (lines.length > SHOWN)
            console.log(`  ${what}: ${lines.length - SHOWN} more`);
    }
    return bad === 0;
}

let good = true;
for (const file of exports) good = await check(file) && good;
process.exitCode = good ? 0 : 1;
