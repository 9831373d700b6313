// Holds what ts-analyze and ts-replay say of programs against the truth about
// them: node compare.mjs TALLY FOLDER... Each folder has truth.json,
// analyze.json and replay.json. Adds each statement to the tally, a line each:
// what sort, the confidence it was made with, whether it is right, and what was
// wrong.
import { appendFileSync, readFileSync } from 'node:fs'

const [tally, ...folders] = process.argv.slice(2)
const read = name => JSON.parse(readFileSync(name, 'utf8'))

// One program: what was so, what was said, and the lines of the tally.
class Case {
    constructor(folder) {
        this.folder = folder
        this.truth = read(`${folder}/truth.json`)
        this.answers = read(`${folder}/analyze.json`).answers
        this.replay = read(`${folder}/replay.json`)
        this.lines = []
        this.span = this.sum('span_ns')
    }

    sum(key) {
        return this.truth.devices.reduce((n, d) => n + d[key], 0)
    }

    state(sort, confidence, right, said, so) {
        this.lines.push([sort, confidence ?? 'none', right ? 'right' : 'wrong',
            right ? '' : `${this.folder}: said ${said}, truth ${so}`]
            .join('\t'))
    }

    // Figures are right within 2 % of what they are a part of.
    close(sort, confidence, said, so, of, name = '') {
        this.state(sort, confidence, Math.abs(said - so) * 50 <= of,
            `${name} ${said} of ${of} ns`, so)
    }

    rows(answer, table) {
        return this.answers[answer].tables[table]?.rows ?? []
    }
}

function lengths(c) {
    const { truth, replay } = c
    const said = replay.recorded_makespan_ns
    // Clocks that drift by 40 ppm and are put right by a microsecond.
    const apart = truth.program.skewed ? 2000 + truth.recorded_ns / 10000 : 0
    c.state(apart ? 'length, on skewed clocks' : 'length', 'exact',
        Math.abs(said - truth.recorded_ns) <= apart, said, truth.recorded_ns)
    const { busy_ns, idle_ns } = c.answers.idle.figures
    const busy = c.sum('busy_ns'), idle = c.span - busy
    if (truth.program.lost)
        c.close('busy time, records lost', c.answers.summary.confidence,
            busy_ns, busy, c.span)
    else
        c.state('busy and idle time', 'exact',
            busy_ns === busy && idle_ns === idle,
            `${busy_ns} and ${idle_ns}`, `${busy} and ${idle}`)
}

function idle(c) {
    const all = c.span - c.sum('busy_ns')
    const said = Object.fromEntries(c.rows('idle', 'causes')
        .map(row => [row.cause, row.idle_ns]))
    for (const cause of Object.keys(c.truth.devices[0].idle_ns)) {
        const so = c.truth.devices.reduce((n, d) => n + d.idle_ns[cause], 0)
        if (so || said[cause])
            c.close('idle time of a cause', c.answers.idle.confidence,
                said[cause] ?? 0, so, all, cause)
    }
}

// What a run is bound by, where no other part is nearly as large.
function bounds(c) {
    const parts = {
        launch: c.sum('launching_ns'), host: c.sum('waiting_ns'),
        copy: c.sum('only_copies_ns'), communication: c.sum('only_meets_ns')
    }
    const { figures, confidence } = c.answers.summary
    const [most, second] = Object.keys(parts).sort((a, b) =>
        parts[b] - parts[a])
    const near = (a, b) => Math.abs(a - b) * 50 <= c.span
    if (near(parts[most], parts[second]) || near(parts[most], c.span / 5))
        return
    const words = Object.keys(parts)
        .filter(part => figures[`${part}_bound`] === 'yes').join()
    const so = parts[most] * 5 > c.span ? most : ''
    c.state('what a run is bound by', confidence, words === so,
        words || 'nothing', `${so || 'nothing'} ${JSON.stringify(parts)}`)
}

function path(c) {
    const { truth } = c
    const { confidence } = c.answers.path
    for (const row of c.rows('path', 'costs')) {
        const so = truth.path[row.cost]
        if (so === undefined) continue
        c.close('critical path of a category', confidence, row.path_ns, so,
            truth.makespan_ns, row.cost)
        if (row.free_ns !== null)
            c.close('length if a category took no time', row.confidence,
                row.free_ns, truth.free[row.cost], truth.makespan_ns, row.cost)
    }
}

function overlap(c) {
    const { figures, confidence } = c.answers.overlap
    if (!figures) return
    for (const [key, so] of [['collective_exposed_ns', c.sum('meets_bare_ns')],
        ['copy_exposed_ns', c.sum('copies_bare_ns')]])
        if (figures[key] !== undefined)
            c.close('exposed copies and collectives', confidence, figures[key],
                so, c.span, key)
}

function steps(c) {
    const { confidence } = c.answers.steps
    for (const row of c.rows('steps', 'steps')) {
        const so = c.truth.steps[row.note]
        if (so !== undefined)
            c.close('length of a step', confidence, row.duration_ns, so, so,
                row.note)
    }
}

function ranks(c) {
    const { truth } = c
    const { figures, confidence, applies } = c.answers.ranks
    if (!applies || figures?.waited_ns === undefined) return
    c.close('time ranks waited', confidence, figures.waited_ns,
        truth.waited_ns, c.span)
    const said = c.rows('ranks', 'ranks').filter(row =>
        /^rank \d+$/.test(row.rank))
    const worst = (list, key) => list.reduce((a, b) => b[key] > a[key] ? b : a)
    const present = truth.ranks.map((r, i) => ({ rank: `rank ${i}`, ...r }))
    const last = worst(present, 'caused_ns')
    const second = Math.max(...present.filter(r => r !== last)
        .map(r => r.caused_ns))
    if (said.length && last.caused_ns > second * 1.02)
        c.state('rank that others wait for most', confidence,
            worst(said, 'caused_ns').rank === last.rank,
            worst(said, 'caused_ns').rank, last.rank)
    for (const row of c.rows('ranks', 'clocks')) {
        const rank = present.find(r => r.rank === row.file)
        if (!rank || rank.rank === 'rank 0') continue
        const most = 2000 + truth.makespan_ns / 10000 // 40 ppm
        c.state('offset of a clock', confidence,
            Math.abs(row.offset_ns + rank.clock_ns) <= most,
            row.offset_ns, -rank.clock_ns)
    }
}

function changed(c, sort, confidence, said, so, name) {
    const was = c.truth.makespan_ns
    const near = (a, b) => Math.abs(a - b) * 50 <= was
    const sign = near(so, was) || (so - was) * (said - was) > 0
    c.state(sort, confidence, near(so, said) && sign,
        `${name}: ${said} of ${was} ns`, so)
}

function whatIfs(c) {
    for (const one of c.replay.what_ifs) {
        const so = c.truth.what_ifs[one.what_if]
        if (so === undefined) continue
        changed(c, `what-if ${one.what_if.split(' ')[0]}`, one.confidence,
            one.makespan_ns ?? Infinity, so, one.what_if)
    }
}

function advice(c) {
    const { truth } = c
    for (const f of c.answers.advice.findings ?? []) {
        const name = /\b(alpha|beta|gamma|delta|load|resize|tokenize|augment)\b/
            .exec(`${f.title} ${f.what}`)
        const so = { ...truth.advice, ...truth.straggler }[f.id] ??
            truth.advice[`${f.id} ${name?.[0]}`]
        if (so === undefined || f.gain_ns === null || f.gain_ns === undefined)
            continue
        changed(c, `advice ${f.id}`, f.confidence,
            truth.makespan_ns - f.gain_ns, so, f.title)
    }
}

for (const folder of folders) {
    const c = new Case(folder)
    for (const judge of [lengths, idle, bounds, path, overlap, steps, ranks,
        whatIfs, advice])
        judge(c)
    appendFileSync(tally, c.lines.join('\n') + '\n')
}
