# Tables of Instruments against the trace that ts-import made of them:
#     python3 xctrace.py make FILE.xml
#     python3 xctrace.py compare EVENTS.json   what ts-view lists of the trace
# The layout is that of published exports: see tools/import/xctrace/xctrace.h.
import collections
import json
import random
import sys
from xml.sax.saxutils import escape, quoteattr

random.seed(11)
PROCESSES = [(812, 'app <one>'), (99, 'WindowServer')]
CHANNELS = ['Compute', 'Vertex', 'Fragment']
STACKS = [['work<int>', 'step', 'main'], ['idle', 'main'], ['main']]
wanted = collections.Counter()  # (kind, start, duration, label, where)
out = []
known = {}


# An element, as a reference if it was written already. `parts`: XML within.
def put(tag, text='', shown=None, parts=''):
    key = (tag, text, shown, parts)
    if key in known:
        return f'<{tag} ref="{known[key]}"/>'
    known[key] = len(known) + 1
    shown = '' if shown is None else f' fmt={quoteattr(shown)}'
    return f'<{tag} id="{known[key]}"{shown}>{escape(text)}{parts}</{tag}>'


def process(index):
    pid, name = PROCESSES[index]
    return put('process', '', f'{name} ({pid})', put('pid', str(pid), str(pid)))


def thread(index, tid):
    return put('thread', '', f'thread {tid}',
               put('tid', str(tid), hex(tid)) + process(index))


def table(name, columns, rows, has_schema=True):
    out.append("<node xpath='//trace-toc[1]/run[1]/data[1]/table[3]'>")
    if has_schema:
        out.append(f'<schema name="{name}">' + ''.join(
            f'<col><mnemonic>{c}</mnemonic><name>{c}</name></col>'
            for c in columns) + '</schema>')
    out.extend(f'<row>{"".join(cells)}</row>' for cells in rows)
    out.append('</node>')


def make_rows():
    at = 1000
    for buffer in range(1, 600):
        length = random.choice([0, 150, 2500, 90000])
        yield (buffer, at, length, random.randrange(2),
               random.choice(['Active'] * 5 + ['Idle']), random.choice(STACKS))
        at += 1000 + random.randrange(500) + length


def interval(buffer, at, length, owner, state, stack):
    channel = CHANNELS[buffer % 3]
    label = f'Command Buffer {buffer % 9}:pass "{buffer % 7}" & more'
    depth = str(int(buffer % 11 == 0))
    nested = depth == '1' and buffer % 13 != 0
    pid, name = PROCESSES[owner]
    if state == 'Active':
        wanted['zone' if nested else 'kernel', at, length, label,
               'inside intervals' if nested
               else f'{channel}, {name} ({pid})'] += 1
    return [put('start-time', str(at), 't'), put('duration', str(length), 'd'),
            put('gpu-channel-name', channel, channel),
            '<sentinel/>' if buffer % 13 == 0 else
            put('metal-nesting-level', depth, depth),
            put('formatted-label', '', f'{label} ( x )',
                put('string', label, label) + process(owner)),
            put('gpu-state', state, state), process(owner),
            put('metal-command-buffer-id', str(buffer), hex(buffer))]


def call(buffer, at, length, owner, state, stack):
    wanted['api_call', at - 500, 300, 'commit', f'thread {400 + owner}'] += 1
    return [put('start-time', str(at - 500), 't'), put('duration', '300', 'd'),
            thread(owner, 400 + owner),
            put('metal-command-buffer-id', str(buffer), hex(buffer))]


def encoder(buffer, at, length, owner, state, stack):
    label = f'encoder {buffer % 5}'
    wanted['zone', at - 900, 350, label, f'thread {400 + owner}'] += 1
    return [put('start-time', str(at - 900), 't'), put('duration', '350', 'd'),
            thread(owner, 400 + owner), put('metal-object-label', label, label),
            put('event-type', 'Compute', 'Compute')]


def signpost(buffer, at, length, owner, state, stack):
    wanted['zone', at, 7, 'step', 'signposts'] += 1
    return [put('start-time', str(at), 't'), put('duration', '7', 'd'),
            put('name', 'step', 'step'), process(owner)]


def sample(buffer, at, length, owner, state, stack):
    wanted['sample', at, 0, ' < '.join(stack), f'thread {400 + owner}'] += 1
    return [put('sample-time', str(at), 't'), thread(owner, 400 + owner),
            put('weight', '1000000', '1 ms'),
            put('tagged-backtrace', '', stack[0],
                put('backtrace', '', None, ''.join(put_frame(f)
                                                   for f in stack)))]


def build():
    rows = list(make_rows())
    table('metal-gpu-intervals',
          ['start', 'duration', 'channel-name', 'event-depth', 'event-label',
           'state', 'process', 'cmdbuffer-id'],
          [interval(*r) for r in rows[:300]])
    table('metal-gpu-intervals', [], [interval(*r) for r in rows[300:]], False)
    table('metal-application-command-buffer-submissions',
          ['start', 'duration', 'thread', 'cmdbuffer-id'],
          [call(*r) for r in rows])
    table('metal-application-encoders-list',
          ['start', 'duration', 'thread', 'encoder-label', 'event-type'],
          [encoder(*r) for r in rows])
    table('os-signpost-interval', ['start', 'duration', 'name', 'process'],
          [signpost(*r) for r in rows])
    table('time-profile', ['time', 'thread', 'weight', 'stack'],
          [sample(*r) for r in rows])
    table('display-vsync', ['time'], [[put('event-time', '5', 't')]] * 3)


def put_frame(name):
    key = ('frame', name)
    if key in known:
        return f'<frame ref="{known[key]}"/>'
    known[key] = len(known) + 1
    return f'<frame id="{known[key]}" name={quoteattr(name)} addr="0x1">' \
        f'{put("binary")}</frame>'


build()
if sys.argv[1] == 'make':
    with open(sys.argv[2], 'w') as file:
        file.write('<?xml version="1.0"?>\n<!-- an export -->\n'
                   '<trace-query-result>\n' + '\n'.join(out) +
                   '\n</trace-query-result>\n')
else:
    with open(sys.argv[2]) as source:
        events = json.load(source)['events']
    first = min(key[1] for key in wanted)
    start = min(e['start_ns'] for e in events)
    found = collections.Counter(
        (e['kind'], e['start_ns'] - start + first, e['duration_ns'],
         e['values']['stack'] if e['kind'] == 'sample' else e['label'],
         e['track_name']) for e in events)
    missing, more = wanted - found, found - wanted
    assert not missing, missing.most_common(3)
    assert not more, more.most_common(3)
    print(f'{sum(found.values())} events')
