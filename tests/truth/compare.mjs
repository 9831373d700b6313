// Holds what ts-analyze and ts-replay say of a program against the truth about
// it: node compare.mjs TALLY FOLDER... Each folder has truth.json, analyze.json
// and replay.json. Adds each statement to the tally, a line each: what sort,
// the confidence it was made with, whether it is right, and what was wrong.
import { appendFileSync, readFileSync } from 'node:fs'

const [tally, ...folders] = process.argv.slice(2)
const read = name => JSON.parse(readFileSync(name, 'utf8'))

function judge(folder) {
    const truth = read(`${folder}/truth.json`)
    const { answers } = read(`${folder}/analyze.json`)
    const replay = read(`${folder}/replay.json`)
    const lines = []
    const state = (sort, confidence, wrong) =>
        lines.push([sort, confidence, wrong ? 'wrong' : 'right',
            wrong ? `${folder}: ${wrong}` : ''].join('\t'))
    // Within 2 % of the makespan.
    const near = (a, b) => Math.abs(a - b) * 50 <= truth.makespan_ns

    if (replay.recorded_makespan_ns !== truth.makespan_ns)
        state('length', 'exact', `${replay.recorded_makespan_ns} ns, ` +
            `truth ${truth.makespan_ns}`)
    else state('length', 'exact')

    const sum = key => truth.devices.reduce((n, d) => n + d[key], 0)
    const { busy_ns, idle_ns } = answers.idle.figures
    const idle = sum('span_ns') - sum('busy_ns')
    state('busy and idle time', 'exact',
        (busy_ns !== sum('busy_ns') || idle_ns !== idle) &&
        `busy ${busy_ns}, idle ${idle_ns} ns, ` +
        `truth ${sum('busy_ns')}, ${idle}`)

    const causes = {}
    for (const { cause, idle_ns } of answers.idle.tables.causes.rows)
        causes[cause] = idle_ns
    for (const cause of Object.keys(truth.devices[0].idle_ns)) {
        const so = truth.devices.reduce((n, d) => n + d.idle_ns[cause], 0)
        const said = causes[cause] ?? 0
        if (!so && !said) continue
        state('idle time of a cause', answers.idle.confidence,
            Math.abs(so - said) * 50 > idle &&
            `${cause} ${said} of ${idle} ns, truth ${so}`)
    }

    for (const row of answers.path.tables.costs.rows) {
        const so = truth.free[row.cost]
        if (so === undefined) continue
        state('length if a category took no time', answers.path.confidence,
            !near(so, row.free_ns) &&
            `${row.cost} ${row.free_ns} of ${truth.makespan_ns} ns, ` +
            `truth ${so}`)
    }

    Object.entries(truth.what_ifs).forEach(([text, so], i) => {
        const said = replay.what_ifs[i]
        const change = so - truth.makespan_ns
        const guess = said.makespan_ns - truth.makespan_ns
        const sign = !near(change, 0) && change * guess < 0
        state('what-if', said.confidence ?? 'none',
            (said.deadlock || !near(so, said.makespan_ns) || sign) &&
            `${text}: ${said.makespan_ns} of ${truth.makespan_ns} ns, ` +
            `truth ${so}`)
    })
    return lines
}

for (const folder of folders)
    appendFileSync(tally, judge(folder).join('\n') + '\n')
