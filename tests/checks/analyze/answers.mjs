// The sums of `ts-analyze --json` as lines, for a comparison with those that
// others compute from the source of a trace:
//     node answers.mjs ANSWERS.json
//     device N work COUNT busy NS idle NS exposed NS kernels NS
//     kernel COUNT TOTAL MIN MAX NAME
//     copy COUNT BYTES TOTAL KIND
// exposed: communication while no kernel ran; kernels: while any did.
import { readFileSync } from 'node:fs';

const { answers } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const rows = (question, table) => answers[question]?.tables[table]?.rows ?? [];
const lines = [];
let devices = 0;
for (const d of rows('summary', 'devices')) {
    const number = /GPU (\d+)/.exec(d.device)[1];
    if (d.busy_ns + d.idle_ns !== d.span_ns) throw new Error('span');
    lines.push(`device ${number} work ${d.operations} busy ${d.busy_ns} ` +
        `idle ${d.idle_ns} exposed ${d.exposed_ns} kernels ${d.kernel_ns}`);
    devices += d.idle_ns;
}
const causes = rows('summary', 'idle').reduce((sum, r) => sum + r.idle_ns, 0);
if (causes !== devices) throw new Error(`causes ${causes}, idle ${devices}`);
for (const k of rows('kernels', 'names'))
    lines.push(`kernel ${k.count} ${k.total_ns} ${k.min_ns} ${k.max_ns} ` +
        k.name);
for (const c of rows('copies', 'kinds'))
    lines.push(`copy ${c.count} ${c.bytes} ${c.total_ns} ${c.name}`);
console.log(lines.sort().join('\n'));
