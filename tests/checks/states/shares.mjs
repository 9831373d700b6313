// shares.mjs STATES.json REPLAY.json - one rule for shares of busy time
//
// What `ts-view --states --json` says of devices and streams is what the
// report of `ts-replay --json` says: busy times, spans, shares.
import { readFileSync } from "node:fs";

const read = (path) => JSON.parse(readFileSync(path, "utf8"));
const [states, replay] = process.argv.slice(2).map(read);
let compared = 0;

function same(what, a, b) {
    compared++;
    if (a === b) return;
    console.log(`${what}: ${a} by ts-view, ${b} by ts-replay`);
    process.exitCode = 1;
}

const key = (x) => `${x.file ?? 0}/${x.track}`;
const spans = new Map();
states.devices.forEach((device, i) => {
    const other = replay.devices[i];
    const span = device.end_ns - device.start_ns;
    same(`device ${i}, busy`, device.busy_ns, other.busy_ns);
    same(`device ${i}, span`, span, other.span_ns);
    same(`device ${i}, share`, span ? device.busy_ns / span : 0,
        other.utilisation);
    spans.set(`${device.file ?? 0}/${device.track}`, span);
});
const streams = new Map(replay.streams.map((s) => [key(s), s]));
for (const stream of states.streams) {
    const other = streams.get(key(stream));
    if (!other || !stream.states.length) continue;
    same(`stream ${key(stream)}, running`, stream.state_ns.running,
        other.busy_ns);
    const span = spans.get(`${stream.file ?? 0}/${stream.device}`);
    if (span !== undefined) same(`stream ${key(stream)}, span`, span,
        other.span_ns);
}
console.log(`${compared} figures compared`);
if (!compared) process.exitCode = 1;
