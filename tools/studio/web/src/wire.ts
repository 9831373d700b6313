// Questions and answers of a scene as bytes: see scene/wire.h.

export const Type = {
  info: 1,
  rows: 2,
  view: 3,
  pick: 4,
  event: 5,
  search: 6,
  next: 7,
  area: 8,
  idle: 9,
  why: 10,
  path: 11,
  whatif: 12,
  labels: 13,
  refresh: 14,
  flows: 15,
  flame: 16,
  histogram: 17,
  operations: 18,
  counters: 19,
  names: 20,
  work: 40,
} as const;

export const RowType = {
  frames: 1,
  zones: 2,
  calls: 3,
  marks: 4,
  device: 5,
  work: 6,
  ghost: 7,
  counter: 8,
  path: 9,
  layer: 100, // made by the page
} as const;

export const FlameBy = { boxes: 1, zones: 2, stacks: 3 } as const;
// What a counter is of: the part of its row.
export const CounterPart = { recorded: 0, queue: 1 } as const;

export const TrackType = {
  process: 1,
  thread: 2,
  device: 3,
  context: 4,
  stream: 5,
  counter: 6,
} as const;

export const Flag = { onPath: 1, waits: 2, open: 4, guess: 8 } as const;
export const noRef = 0xffffffffffffffffn;
export const gapRef = 1n << 63n;
export const partRef = 1n << 62n;

// Times fit into doubles to the nanosecond up to 104 days; a fraction of a
// nanosecond is lost beyond.
export type Ns = number;

export class Writer {
  private bytes = new Uint8Array(256);
  private view = new DataView(this.bytes.buffer);
  private size = 0;

  constructor(type: number) {
    this.u32(0x02515354).u32(type);
  }

  private room(more: number): void {
    if (this.size + more <= this.bytes.length) return;
    const bytes = new Uint8Array(2 * (this.size + more));
    bytes.set(this.bytes);
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer);
  }

  u32(value: number): this {
    this.room(4);
    this.view.setUint32(this.size, value, true);
    this.size += 4;
    return this;
  }

  u64(value: bigint): this {
    this.room(8);
    this.view.setBigUint64(this.size, BigInt.asUintN(64, value), true);
    this.size += 8;
    return this;
  }

  ns(value: Ns): this {
    return this.u64(BigInt(Math.round(value)));
  }

  text(value: string): this {
    const bytes = new TextEncoder().encode(value);
    this.u32(bytes.length).room(bytes.length);
    this.bytes.set(bytes, this.size);
    this.size += bytes.length;
    return this;
  }

  done(): Uint8Array<ArrayBuffer> {
    return this.bytes.slice(0, this.size);
  }
}

export class Failure extends Error {
  constructor(readonly result: number) {
    super(`result ${result}`);
  }
}

// Those results that the page tells apart.
export const Result = { memory: -3, notFound: -11 } as const;

export class Answer {
  private view: DataView;
  private at = 12;
  readonly type: number;

  constructor(private bytes: Uint8Array<ArrayBuffer>) {
    if (bytes.length < 12) throw new Error('the answer is cut short');
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    if (this.view.getUint32(0, true) !== 0x02415354)
      throw new Error('the answer is of another version');
    this.type = this.view.getUint32(4, true);
    const result = this.view.getInt32(8, true);
    if (result) throw new Failure(result);
  }

  u8(): number {
    return this.view.getUint8(this.at++);
  }

  u32(): number {
    this.at += 4;
    return this.view.getUint32(this.at - 4, true);
  }

  u64(): bigint {
    this.at += 8;
    return this.view.getBigUint64(this.at - 8, true);
  }

  ns(): Ns {
    this.at += 8;
    return Number(this.view.getBigInt64(this.at - 8, true));
  }

  real(): number {
    this.at += 8;
    return this.view.getFloat64(this.at - 8, true);
  }

  raw(size: number): Uint8Array<ArrayBuffer> {
    if (this.at + size > this.bytes.length) throw new Error('cut short');
    this.at += size;
    return this.bytes.subarray(this.at - size, this.at);
  }

  floats(count: number): Float32Array {
    const floats = new Float32Array(count);
    for (let i = 0; i < count; i++, this.at += 4)
      floats[i] = this.view.getFloat32(this.at, true);
    return floats;
  }

  text(): string {
    return new TextDecoder().decode(this.raw(this.u32()));
  }

  list<T>(make: () => T): T[] {
    const list: T[] = [];
    for (let count = this.u32(); count > 0; count--) list.push(make());
    return list;
  }
}

/* ---- What answers hold ---- */

export interface Loss {
  cause: string;
  lost: boolean;
  track: number;
  trackName: string;
  count: number;
  first: Ns;
  last: Ns;
}

export interface Metadata {
  track: number;
  key: string;
  value: string;
}

export interface Info {
  first: Ns;
  last: Ns;
  realtime: bigint;
  bytes: number;
  lost: number;
  salvaged: number;
  process: number;
  finished: boolean;
  live: boolean;
  clockEstimated: boolean;
  damages: number;
  operations: number;
  counts: number[];
  losses: Loss[];
  metadata: Metadata[];
}

function readMetadata(a: Answer): Metadata {
  const track = a.u32(),
    key = a.text(),
    type = a.u8();
  const value =
    type === 3 ? a.text() : type === 2 ? String(a.real()) : String(a.ns());
  return { track, key, value };
}

export function readInfo(a: Answer): Info {
  const info: Info = {
    first: a.ns(),
    last: a.ns(),
    realtime: a.u64(),
    bytes: a.ns(),
    lost: a.ns(),
    salvaged: a.ns(),
    process: a.u32(),
    finished: !!a.u8(),
    live: !!a.u8(),
    clockEstimated: !!a.u8(),
    damages: a.u32(),
    operations: a.ns(),
    counts: a.list(() => a.ns()),
    losses: [],
    metadata: [],
  };
  info.losses = a.list(() => ({
    cause: a.text(),
    lost: !!a.u8(),
    track: a.u32(),
    trackName: a.text(),
    count: a.ns(),
    first: a.ns(),
    last: a.ns(),
  }));
  info.metadata = a.list(() => readMetadata(a));
  return info;
}

export interface Row {
  id: number;
  type: number;
  track: number;
  part: number;
  count: number;
  low: number;
  high: number;
  trackType: number;
  parent: number;
  name: string;
  unit: string;
  // Of rows that are not of the trace: where they are shown.
  group?: RowGroup;
}

export interface RowGroup {
  key: string;
  title: string;
  detail: string;
  order: number[];
  rows: Row[];
}

export interface Track {
  id: number;
  type: number;
  parent: number;
  name: string;
  detail: string;
}

export interface Rows {
  version: number;
  whole: boolean;
  rows: Row[];
  tracks: Track[];
}

export function readRows(a: Answer): Rows {
  return {
    version: a.u32(),
    whole: !!a.u8(),
    rows: a.list(() => ({
      id: a.u32(),
      type: a.u8(),
      track: a.u32(),
      part: a.u32(),
      count: a.ns(),
      low: a.real(),
      high: a.real(),
      trackType: a.u8(),
      parent: a.u32(),
      name: a.text(),
      unit: a.text(),
    })),
    tracks: a.list(() => ({
      id: a.u32(),
      type: a.u8(),
      parent: a.u32(),
      name: a.text(),
      detail: a.text(),
    })),
  };
}

export interface Box {
  start: Ns;
  end: Ns;
  ref: bigint;
  label: number;
  flags: number;
}

export interface Label {
  id: number;
  kind: number;
  hue: number;
  text: string;
}

export interface RowView {
  row: number;
  type: number;
  coarse: boolean;
  behind: boolean; // work improves it
  busy?: Uint8Array;
  hue?: Uint8Array;
  boxes: Box[];
  low?: Float32Array;
  high?: Float32Array;
}

export interface View {
  from: Ns;
  to: Ns;
  pixels: number;
  version: number;
  rows: RowView[];
  labels: Map<number, Label>;
}

function readBox(a: Answer): Box {
  return {
    start: a.ns(),
    end: a.ns(),
    ref: a.u64(),
    label: a.u32(),
    flags: a.u32(),
  };
}

function readLabel(a: Answer): Label {
  return { id: a.u32(), kind: a.u8(), hue: a.u8(), text: a.text() };
}

function readLabels(a: Answer): Map<number, Label> {
  return new Map(a.list(() => readLabel(a)).map((l) => [l.id, l]));
}

function readRowView(a: Answer, pixels: number): RowView {
  const row = a.u32(),
    type = a.u8(),
    quality = a.u8();
  const view: RowView = {
    row,
    type,
    coarse: !!(quality & 1),
    behind: !!(quality & 2),
    boxes: [],
  };
  if (view.type === RowType.counter) {
    view.low = a.floats(pixels);
    view.high = a.floats(pixels);
  } else {
    view.busy = a.raw(pixels);
    view.hue = a.raw(pixels);
    view.boxes = a.list(() => readBox(a));
  }
  return view;
}

export function readView(a: Answer): View {
  const view: View = {
    from: a.ns(),
    to: a.ns(),
    pixels: a.u32(),
    version: a.u32(),
    rows: [],
    labels: new Map(),
  };
  view.rows = a.list(() => readRowView(a, view.pixels));
  view.labels = readLabels(a);
  return view;
}

export interface Found {
  row: number;
  box: Box;
  label: Label | undefined;
}

export function readFound(a: Answer): Found {
  const row = a.u32(),
    box = readBox(a);
  return { row, box, label: readLabels(a).get(box.label) };
}

export interface Sum extends Label {
  count: number;
  total: Ns;
}

function readSum(a: Answer): Sum {
  return { ...readLabel(a), count: a.ns(), total: a.ns() };
}

export interface Matches {
  found: number;
  sums: Sum[];
  behind: boolean; // work finds more
  loaded: boolean; // counts are of what is loaded, and stay so
}

export function readSearch(a: Answer): Matches {
  const found = a.u32(),
    sums = a.list(() => readSum(a)),
    known = a.u8();
  return { found, sums, behind: known === 1, loaded: known === 2 };
}

export function readSums(a: Answer): Sum[] {
  return a.list(() => readSum(a));
}

export interface AreaSum extends Sum {
  self: Ns;
  least: Ns;
  most: Ns;
  longest: bigint;
}

// What figures of an area rest on.
export interface Share {
  counted: number;
  events: number;
  behind: boolean; // asked again, more is counted
}

function readShare(a: Answer): Share {
  return { counted: a.ns(), events: a.ns(), behind: !!a.u8() };
}

export interface Area {
  share: Share;
  names: number;
  boxes: number;
  sums: AreaSum[]; // the largest
}

export function readArea(a: Answer): Area {
  return {
    share: readShare(a),
    names: a.u32(),
    boxes: a.ns(),
    sums: a.list(() => ({
      ...readSum(a),
      self: a.ns(),
      least: a.ns(),
      most: a.ns(),
      longest: a.u64(),
    })),
  };
}

export interface FlameNode {
  parent: number; // -1: none
  hue: number;
  text: string;
  count: number;
  total: Ns;
}

export interface Flame {
  share: Share;
  nodes: FlameNode[];
  all: number; // nodes, of which the largest are here
  full: boolean; // there were more than could be kept
}

export function readFlame(a: Answer): Flame {
  const share = readShare(a),
    all = a.u32(),
    full = !!a.u8();
  const nodes = a.list(() => ({
    parent: a.u32() | 0,
    hue: a.u8(),
    text: a.text(),
    count: a.ns(),
    total: a.ns(),
  }));
  return { share, nodes, all, full };
}

export interface Bin {
  from: Ns;
  to: Ns;
  count: number;
  total: Ns;
  row: number; // of the longest box
  start: Ns;
  end: Ns;
}

export interface Histogram {
  share: Share;
  count: number;
  total: Ns;
  least: Ns;
  p50: Ns;
  p90: Ns;
  p99: Ns;
  most: Ns;
  bins: Bin[];
}

export function readHistogram(a: Answer): Histogram {
  return {
    share: readShare(a),
    count: a.ns(),
    total: a.ns(),
    least: a.ns(),
    p50: a.ns(),
    p90: a.ns(),
    p99: a.ns(),
    most: a.ns(),
    bins: a.list(() => ({
      from: a.ns(),
      to: a.ns(),
      count: a.ns(),
      total: a.ns(),
      row: a.u32(),
      start: a.ns(),
      end: a.ns(),
    })),
  };
}

export function readEvent(a: Answer): [string, string][] {
  return a.list(() => [a.text(), a.text()]);
}

export interface Device {
  track: number;
  name: string;
  operations: number;
  start: Ns;
  end: Ns;
  busy: Ns;
  idle: Ns;
  causes: { ns: Ns; count: number }[];
  launchMedian: Ns;
  launchMost: Ns;
  queueMost: number;
}

export interface Gap {
  ref: bigint;
  track: number;
  start: Ns;
  end: Ns;
  cause: number;
  guess: boolean;
}

export interface Idle {
  causes: string[];
  devices: Device[];
  total: Device;
  gaps: Gap[];
}

export function readIdle(a: Answer): Idle {
  const causes = a.list(() => a.text());
  const device = (): Device => ({
    track: a.u32(),
    name: a.text(),
    operations: a.ns(),
    start: a.ns(),
    end: a.ns(),
    busy: a.ns(),
    idle: a.ns(),
    causes: causes.map(() => ({ ns: a.ns(), count: a.ns() })),
    launchMedian: a.ns(),
    launchMost: a.ns(),
    queueMost: a.u32(),
  });
  return {
    causes,
    devices: a.list(device),
    total: device(),
    gaps: a.list(() => ({
      ref: a.u64(),
      track: a.u32(),
      start: a.ns(),
      end: a.ns(),
      cause: a.u8(),
      guess: !!a.u8(),
    })),
  };
}

export interface Reason {
  text: string;
  start: Ns;
  end: Ns;
  ref: bigint;
  inferred: boolean;
}

export function readWhy(a: Answer): Reason[] {
  return a.list(() => ({
    text: a.text(),
    start: a.ns(),
    end: a.ns(),
    ref: a.u64(),
    inferred: !!a.u8(),
  }));
}

export interface FlowEnd {
  row: number;
  ns: Ns;
  ref: bigint;
  label: number;
}

export interface Flow {
  from: FlowEnd;
  to: FlowEnd;
  edge: string;
  inferred: boolean;
  last: boolean; // of all that `to` waited for, this was satisfied last
}

export interface Flows {
  total: number; // of which some are kept
  more: boolean; // there are more: counting ended
  flows: Flow[];
  labels: Map<number, Label>;
}

function readFlowEnd(a: Answer): FlowEnd {
  return { row: a.u32(), ns: a.ns(), ref: a.u64(), label: a.u32() };
}

export function readFlows(a: Answer): Flows {
  const total = a.ns(),
    more = !!a.u8();
  const names = a.list(() => a.text());
  const flows = a.list(() => ({
    from: readFlowEnd(a),
    to: readFlowEnd(a),
    edge: names[a.u8()] ?? 'critical path',
    inferred: !!a.u8(),
    last: !!a.u8(),
  }));
  return { total, more, flows, labels: readLabels(a) };
}

export interface Operation {
  start: Ns;
  end: Ns;
  ref: bigint; // noRef: there is no such operation
}

export function readOperations(a: Answer): Operation[] {
  return a.list(() => ({ start: a.ns(), end: a.ns(), ref: a.u64() }));
}

export interface Path {
  costs: { name: string; ns: Ns }[];
  bound: number;
  parts: number;
}

export function readPath(a: Answer): Path {
  const names = a.list(() => a.text());
  return {
    costs: names.map((name) => ({ name, ns: a.ns() })),
    bound: a.u32(),
    parts: a.u32(),
  };
}

export interface Outcome {
  recorded: Ns;
  model: Ns;
  changed: Ns;
  boundBefore: number;
  bound: number;
  operations: number;
  unmet: number;
  names: string[];
  before: Ns[];
  after: Ns[];
}

export function readOutcome(a: Answer): Outcome {
  const o = {
    recorded: a.ns(),
    model: a.ns(),
    changed: a.ns(),
    boundBefore: a.u32(),
    bound: a.u32(),
    operations: a.ns(),
    unmet: a.ns(),
    names: a.list(() => a.text()),
  };
  return {
    ...o,
    before: o.names.map(() => a.ns()),
    after: o.names.map(() => a.ns()),
  };
}
