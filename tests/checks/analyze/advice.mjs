// What the advice about a real trace must say: what is known of these
// programs, and gains that ts-replay computes on its own.
//     node advice.mjs NAME ANSWERS WHATIFS
import { readFileSync } from "node:fs";

const [name, answers, whatifs] = process.argv.slice(2);
const read = (path) => JSON.parse(readFileSync(path));
const advice = read(answers).answers.advice;
const found = advice.findings ?? [];
const gains = new Map(
  read(whatifs).what_ifs.map((w) => [w.what_if, -w.change_ns]),
);
const fail = (text) => {
  console.log(`${name}: ${text}`);
  process.exitCode = 1;
};

// Which finding comes first: cold starts, launches one by one, a loader on
// the host, weights that come over the bus, a token read back at each step.
const first = {
  alexnet: "alloc-in-loop",
  simple_add: "alloc-in-loop",
  b200_eager_pdl: "graph-capture",
  v100_nccl_22k_ops: "graph-capture",
  h100_owlv2: "data-loading",
  h100_2gpu_1s: "copy-bound",
  mytrace: "sync-bound",
  dlrm_8ranks_v100: "late-begin",
  event_sync_multi_stream: "host-bound",
  feeder_tests_trace: "estimated-times",
}[name];
if (found[0]?.id !== first) fail(`first is ${found[0]?.id}, not ${first}`);

// These mean the same as what ts-replay is asked for.
const same = {
  "host-bound": "host 0.8",
  "launch-overhead": "no-launch-overhead",
};
for (const finding of found) {
  const text = same[finding.id];
  // Launches of more than a millisecond, which load code, are left out: there
  // are such in the traces that begin cold, and one of 2 ms in the V100's.
  if (text && gains.get(text) !== finding.gain_ns &&
      !found.some((f) => f.id === "slow-first-launch") &&
      !(finding.id === "launch-overhead" && name === "v100_nccl_22k_ops"))
    fail(`${finding.id}: ${finding.gain_ns}, ts-replay: ${gains.get(text)}`);
  if (finding.gain_ns !== null && finding.gain_ns !== undefined) {
    const run = finding.makespan_ns;
    // Who makes all others wait is said even if that gains nothing.
    const least = finding.id === "straggler" ? 0 : 1;
    if (finding.gain_ns < least || finding.gain_ns > run)
      fail(`${finding.id} gains ${finding.gain_ns} of ${run}`);
  }
  const e = finding.evidence;
  if (!e || (e.from_ns === undefined && !e.operations?.length))
    if (finding.id !== "estimated-times") fail(`${finding.id}: no evidence`);
  if (!finding.what || !finding.todo) fail(`${finding.id}: says nothing`);
}
