// About the trace; what ts-analyze advises; what is shown, as tables.
import { button, el, table } from './dom';
import { bytes, count, duration, share } from './format';
import { RowType } from './wire';
import type { App } from './app';

export function traceNodes(app: App): Node[] {
  const { info } = app;
  const session = info.metadata.filter((m) => !m.track);
  const nodes: Node[] = [
    el('h2', {}, 'The trace'),
    el(
      'dl',
      {},
      ...[
        ['lasts', duration(info.last - info.first)],
        ['size', bytes(info.bytes)],
        [
          'started',
          info.realtime
            ? new Date(Number(info.realtime / 1000000n)).toISOString()
            : 'unknown',
        ],
        ['events', count(info.counts.reduce((a, b) => a + b, 0))],
        ['operations of devices', count(info.operations)],
        [
          'state',
          info.live
            ? 'still being written'
            : info.finished
              ? 'complete'
              : 'its program was killed',
        ],
        ['salvaged', `${count(info.salvaged)} records`],
        ['lost', `${count(info.lost)} records`],
        ['damaged parts', count(info.damages)],
      ].flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]),
    ),
  ];
  if (info.losses.length)
    nodes.push(
      table(
        'Losses',
        [
          { title: 'cause', cell: (l: (typeof info.losses)[0]) => l.cause },
          { title: 'records', number: true, cell: (l) => count(l.count) },
          { title: 'from', number: true, cell: (l) => app.at(l.first) },
          { title: 'to', number: true, cell: (l) => app.at(l.last) },
        ],
        info.losses,
        (l) => app.zoomTo(l.first, l.last),
      ),
    );
  for (const topic of app.report?.answers ?? [])
    nodes.push(el('h3', {}, topic.title), el('p', {}, topic.answer));
  if (session.length)
    nodes.push(
      table(
        'Metadata',
        [
          { title: 'key', cell: (m: (typeof session)[0]) => m.key },
          { title: 'value', cell: (m) => m.value },
        ],
        session,
      ),
    );
  return nodes;
}

export function findingNodes(app: App): Node[] {
  const nodes: Node[] = [el('h2', {}, 'Findings')];
  for (const f of app.report?.findings ?? []) {
    nodes.push(
      el('h3', {}, f.title),
      el('p', {}, f.what),
      el('p', {}, `Do: ${f.todo}`),
    );
    if (f.gain_ns !== null)
      nodes.push(
        el(
          'p',
          { class: 'faint' },
          `Gain: ${duration(f.gain_ns)} of ` + `${duration(f.of_ns)}. ${f.how}`,
        ),
      );
    if (f.from_ns !== null && f.to_ns !== null) {
      const { from_ns: from, to_ns: to } = f;
      nodes.push(button('Show where', () => app.zoomTo(from, to)));
    }
  }
  return nodes;
}

// What is shown, for those who cannot see it.
export function tableNodes(app: App): Node[] {
  const lines = app.tracks.between(app.scroll, app.scroll + app.painter.height);
  const boxes = lines
    .flatMap((line) =>
      (app.painter.viewOf(line.row!.id)?.boxes ?? [])
        .filter((b) => b.end > app.from && b.start < app.to)
        .map((box) => ({ line, box })),
    )
    .slice(0, 400);
  const view = (row: number) => app.painter.viewOf(row);
  const busy = (row: number) => {
    const b = view(row)?.busy;
    return b?.length ? b.reduce((sum, x) => sum + x, 0) / b.length / 255 : 0;
  };
  return [
    el('h2', {}, 'What is shown, as tables'),
    el('p', { class: 'faint' }, `${app.at(app.from)} to ${app.at(app.to)}`),
    table(
      'Rows',
      [
        {
          title: 'track',
          cell: (l: (typeof lines)[0]) =>
            `${l.row!.name}${
              l.row!.part && l.row!.type !== RowType.counter
                ? `, level ${l.row!.part + 1}`
                : ''
            }`,
        },
        { title: 'boxes', number: true, cell: (l) => count(l.row!.count) },
        {
          title: 'busy',
          number: true,
          cell: (l) =>
            l.row!.type === RowType.counter ? '-' : share(busy(l.row!.id), 1),
        },
      ],
      lines,
    ),
    table(
      'Boxes wide enough to be seen',
      [
        {
          title: 'name',
          cell: (b: (typeof boxes)[0]) => app.labelOf(b.box)?.text,
        },
        { title: 'track', cell: (b) => b.line.row!.name },
        { title: 'start', number: true, cell: (b) => app.at(b.box.start) },
        {
          title: 'duration',
          number: true,
          cell: (b) => duration(b.box.end - b.box.start),
        },
      ],
      boxes,
      (b) => app.select(b.line.row!.id, b.box, app.labelOf(b.box)),
    ),
  ];
}
