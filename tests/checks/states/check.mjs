// What `ts-view --states --json` says of a trace, against sums over the
// events that `ts-view --events --json` lists:
//   node tests/checks/states/check.mjs STATES EVENTS
import { readFileSync } from 'node:fs';

const [states, events] =
    process.argv.slice(2).map((path) => JSON.parse(readFileSync(path)));
const work = { kernel: 'kernel', memcpy: 'copy', memset: 'copy',
               collective: 'collective' };
let failed = 0;

function same(wanted, got, what)
{
    if (wanted === got) return;
    console.log(`${what}: wanted ${wanted}, got ${got}`);
    failed = 1;
}

const sum = (object) => Object.values(object).reduce((a, b) => a + b, 0);

// The time covered by intervals, and how much lies between them.
function cover(list)
{
    list.sort((a, b) => a[0] - b[0]);
    let busy = 0, until = -Infinity, gaps = [];
    for (const [from, to] of list) {
        if (from > until && until > -Infinity) gaps.push([until, from]);
        if (to > until) busy += to - Math.max(from, until);
        until = Math.max(to, until);
    }
    return { busy, gaps };
}

states.devices.forEach((device, index) => {
    const name = `device ${index}`;
    const tracks = new Set(states.streams.filter(
        (s) => s.device === (device.track ?? 0)).map((s) => s.track));
    const list = events.events.filter((e) => work[e.kind] &&
                                             tracks.has(e.track));
    const took = list.filter((e) => e.duration_ns > 0)
        .map((e) => [e.start_ns, e.start_ns + e.duration_ns]);
    const { busy, gaps } = cover(took);
    const span = device.end_ns - device.start_ns;
    same(list.length, device.operations, `${name}: operations`);
    same(busy, device.busy_ns, `${name}: busy`);
    same(span - busy, device.idle_ns, `${name}: idle`);
    same(device.idle_ns, sum(device.cause_ns), `${name}: sum of causes`);
    same(device.idle_ns, sum(device.confidence), `${name}: confidence`);
    same(device.busy_ns, sum(device.only_ns), `${name}: kinds of work`);
    same(span, sum(device.concurrency_ns), `${name}: concurrency`);
    for (const kind of ['kernel', 'copy', 'collective']) {
        const own = list.filter((e) => work[e.kind] === kind &&
                                       e.duration_ns > 0);
        same(cover(own.map((e) => [e.start_ns, e.start_ns + e.duration_ns]))
                 .busy, device.work_ns[kind], `${name}: ${kind}`);
    }
    const own = states.gaps.filter((g) => g.device === index)
        .map((g) => [g.start_ns, g.end_ns]).sort((a, b) => a[0] - b[0]);
    // The first may be the time from the first call to the first operation.
    if (own.length && own[0][0] === device.start_ns &&
        own.length === gaps.length + 1)
        own.shift();
    same(JSON.stringify(gaps), JSON.stringify(own), `${name}: gaps`);
});

for (const stream of states.streams) {
    let at = stream.states.length ? stream.states[0].start_ns : 0;
    const last = stream.states.at(-1);
    for (const stay of stream.states) {
        same(at, stay.start_ns, `${stream.name}: begin of a state`);
        at = stay.end_ns;
    }
    if (last) same(states.to_ns, last.end_ns, `${stream.name}: last end`);
    const ran = cover(events.events.filter(
        (e) => (work[e.kind] || e.kind === 'host_function') &&
               e.track === stream.track && e.duration_ns > 0)
        .map((e) => [e.start_ns, e.start_ns + e.duration_ns])).busy;
    same(ran, stream.state_ns.running, `${stream.name}: running`);
}
process.exit(failed);
