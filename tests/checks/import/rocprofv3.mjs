// JSON and CSV of rocprofv3 against the traces that ts-import made of them:
//     node rocprofv3.mjs make FOLDER      writes both, as a run of two processes
//                                         of one GPU and its host would
//     node rocprofv3.mjs compare RESULTS.json TRACE.sbt [csv]
// Each kernel, copy, call, marker and allocation of the JSON must be in the
// trace with its time, duration and figures, and nothing else; `csv`: figures
// that CSV lacks do not count.
import { readFileSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { Rows } from './rows.mjs';

const [task, first, trace, csv] = process.argv.slice(2);

/* ---- Making ------------------------------------------------------------- */

function make(folder) {
    let state = 12345;
    const random = (below) => {
        state = (state * 1103515245 + 12345) % 2147483648;
        return state % below;
    };
    const kinds = [
        ['NONE', []],
        ['HIP_RUNTIME_API', ['hipInit', 'hipLaunchKernel', 'hipMemcpyAsync']],
        ['MARKER_CORE_API', ['roctxMarkA', 'roctxRangePushA']],
        ['MEMORY_COPY', ['MEMORY_COPY_NONE', 'MEMORY_COPY_HOST_TO_DEVICE']],
        ['MEMORY_ALLOCATION', ['MEMORY_ALLOCATION_ALLOCATE',
            'MEMORY_ALLOCATION_FREE']],
        ['KERNEL_DISPATCH', ['NONE', 'ENQUEUE', 'COMPLETE']],
    ];
    const kernels = ['void gemm<float, 4>(float*, int)', 'say "hello", twice'];
    const records = { kernel_dispatch: [], hip_api: [], marker_api: [],
        memory_copy: [], memory_allocation: [] };
    const markers = [];
    let now = 63_857_982_592_000, id = 0;
    const record = (kind, operation, ns, more) => ({ size: 184, kind, operation,
        thread_id: 908, correlation_id: { internal: ++id, external: 0 },
        start_timestamp: now, end_timestamp: now += ns, ...more });
    const own = { thread_id: 908 };
    for (let step = 0; step < 2000; step++) {
        records.hip_api.push(record(1, 1, 1 + random(5000), own));
        const call = id;
        records.kernel_dispatch.push({ ...record(5, 2, 1 + random(90000), {
            dispatch_info: { size: 72, agent_id: { handle: 37946 },
                queue_id: { handle: 16 }, kernel_id: 1 + random(2),
                dispatch_id: step + 1, private_segment_size: 0,
                group_segment_size: 512,
                workgroup_size: { x: 64, y: 2, z: 1 },
                grid_size: { x: 64 * (1 + random(9)), y: 2, z: 3 } },
            stream_id: { handle: random(3) } }),
        correlation_id: { internal: call, external: 0 } });
        if (step % 10 === 0) {
            records.marker_api.push(record(2, 1, 1 + random(100)));
            markers.push({ key: id, value: `step ${step}, "timed"` });
        }
        if (step % 7 === 0)
            records.memory_copy.push(record(3, 1, 1 + random(900), {
                dst_agent_id: { handle: 37946 },
                src_agent_id: { handle: 37944 },
                bytes: 4 * random(1 << 20), stream_id: { handle: 1 } }));
        if (step % 50 === 0)
            records.memory_allocation.push(record(4, step / 50 % 2, 10, {
                agent_id: { handle: step / 50 % 2 ? 0 : 37946 },
                address: `0x${(0x7ffb00000000 + step).toString(16)}`,
                allocation_size: step / 50 % 2 ? 0 : 4096 }));
    }
    const agents = [
        { id: { handle: 37944 }, type: 1, logical_node_id: 0, gpu_index: -1,
            name: 'EPYC', product_name: 'EPYC' },
        { id: { handle: 37946 }, type: 2, logical_node_id: 2, gpu_index: 0,
            name: 'gfx950', product_name: 'MI350X' }];
    const symbols = kernels.map((name, i) => ({ kernel_id: i + 1,
        kernel_name: `k${i}.kd`, formatted_kernel_name: name,
        arch_vgpr_count: 32 }));
    writeFileSync(`${folder}/run_results.json`, JSON.stringify({
        'rocprofiler-sdk-tool': [{
            metadata: { pid: 908, command: ['app'],
                config: { kernel_trace: true } },
            agents, counters: [],
            strings: { buffer_records: kinds.map(([kind, operations]) =>
                ({ kind, operations })), marker_api: markers },
            kernel_symbols: symbols, callback_records: {},
            buffer_records: records }] }, null, 1));
    const cell = (value) => typeof value === 'string'
        ? `"${value.replaceAll('"', '""')}"` : value;
    const table = (name, columns, rows) => writeFileSync(
        `${folder}/run_${name}.csv`, [columns.split(' '), ...rows]
            .map((row) => row.map(cell).join() + '\n').join(''));
    const name = (r) => kinds[r.kind][1][r.operation];
    const said = new Map(markers.map(({ key, value }) => [key, value]));
    const times = (r) => [r.correlation_id.internal, r.start_timestamp,
        r.end_timestamp];
    const head = 'Correlation_Id Start_Timestamp End_Timestamp';
    table('agent_info', 'Logical_Node_Id Agent_Type Name Product_Name',
        agents.map((a) => [a.logical_node_id, a.type === 2 ? 'GPU' : 'CPU',
            a.name, a.product_name]));
    table('kernel_trace', 'Kind Agent_Id Stream_Id Kernel_Name ' + head +
        ' LDS_Block_Size VGPR_Count Workgroup_Size_X Workgroup_Size_Y' +
        ' Workgroup_Size_Z Grid_Size_X Grid_Size_Y Grid_Size_Z',
    records.kernel_dispatch.map((r) => ['KERNEL_DISPATCH', 'Agent 2',
        r.stream_id.handle, kernels[r.dispatch_info.kernel_id - 1], ...times(r),
        512, 32, 64, 2, 1, r.dispatch_info.grid_size.x, 2, 3]));
    const api = 'Domain Function Process_Id Thread_Id ' + head;
    table('hip_api_trace', api, records.hip_api.map((r) =>
        ['HIP_RUNTIME_API', name(r), 908, 908, ...times(r)]));
    table('marker_api_trace', api, records.marker_api.map((r) =>
        ['MARKER_CORE_API', said.get(r.correlation_id.internal), 908, 908,
            ...times(r)]));
    table('memory_copy_trace', 'Kind Direction Stream_Id Source_Agent_Id ' +
        'Destination_Agent_Id ' + head, records.memory_copy.map((r) =>
        ['MEMORY_COPY', name(r), 1, 'Agent 0', 'Agent 2', ...times(r)]));
    table('memory_allocation_trace', 'Kind Operation Agent_Id Allocation_Size' +
        ' Address ' + head, records.memory_allocation.map((r) =>
        ['MEMORY_ALLOCATION', name(r), r.agent_id.handle ? 'Agent 2' : '',
            r.allocation_size, r.address, ...times(r)]));
}

/* ---- Comparing ---------------------------------------------------------- */

function compare() {
    const processes = JSON.parse(readFileSync(first, 'utf8'))
        ['rocprofiler-sdk-tool'];
    const rows = [];
    for (const p of processes) {
        const names = p.strings.buffer_records;
        const said = new Map((p.strings.marker_api ?? [])
            .map(({ key, value }) => [key, value]));
        const gpus = new Map(p.agents.filter((a) => a.type === 2)
            .map((a, i) => [a.id.handle, a.gpu_index ?? i]));
        const symbols = new Map(p.kernel_symbols.map((k) => [k.kernel_id, k]));
        const b = p.buffer_records;
        const put = (list, kind, figures) => {
            for (const r of list ?? [])
                rows.push([r.start_timestamp, r.end_timestamp, kind,
                    ...figures(r)]);
        };
        put(b.kernel_dispatch, 'kernel', (r) => {
            const d = r.dispatch_info, w = d.workgroup_size;
            return [gpus.get(d.agent_id.handle), r.stream_id.handle,
                r.correlation_id.internal,
                ['x', 'y', 'z'].map((s) => Math.ceil(d.grid_size[s] / w[s]))
                    .join('.'), `${w.x}.${w.y}.${w.z}`,
                symbols.get(d.kernel_id).arch_vgpr_count];
        });
        put(b.memory_copy, 'memcpy', (r) => [gpus.get(r.dst_agent_id.handle),
            r.stream_id.handle, r.correlation_id.internal, csv ? 0 : r.bytes]);
        for (const api of ['hip_api', 'hsa_api', 'rccl_api'])
            put(b[api], 'api_call', (r) => [r.thread_id,
                names[r.kind].operations[r.operation],
                r.correlation_id.internal]);
        put(b.marker_api, 'zone', (r) =>
            [r.thread_id, said.get(r.correlation_id.internal)]);
        put((b.memory_allocation ?? []).map((r) =>
            ({ ...r, end_timestamp: r.start_timestamp })), 'memory', (r) =>
            [BigInt(r.address), r.allocation_size]);
    }
    const start = rows.reduce((least, [t]) => Math.min(least, t), Infinity);
    const both = new Rows();
    for (const [from, to, ...rest] of rows)
        both.want([from - start, to - from, ...rest].join('|'));
    const ask = (sql) => execFileSync('build/ts-query', ['--csv', trace, sql],
        { encoding: 'utf8', maxBuffer: 1 << 28 });
    // A row is one text: names have commas.
    const each = (columns, from) => {
        const text = ask(`SELECT json_array(${columns}) AS row FROM ${from}`);
        for (const line of text.split('\n').slice(1)) {
            if (!line) continue;
            const json = line.startsWith('"')
                ? line.slice(1, -1).replaceAll('""', '"') : line;
            both.find(JSON.parse(json).map((v) => v ?? 0).join('|'));
        }
    };
    each(`start_ns, duration_ns, 'kernel', device, stream, correlation,
        grid_x || '.' || grid_y || '.' || grid_z,
        block_x || '.' || block_y || '.' || block_z, registers`,
    "gpu_op WHERE kind IN ('kernel', 'collective')");
    each(`start_ns, duration_ns, 'memcpy', device, stream, correlation, size`,
        "gpu_op WHERE kind = 'memcpy'");
    each("start_ns, duration_ns, 'api_call', tid, name, correlation",
        'api_call');
    each("start_ns, duration_ns, 'zone', tid, name", 'zone');
    each("time_ns, 0, 'memory', address, size", 'memory');
    both.end();
}

if (task === 'make') make(first);
else compare();
