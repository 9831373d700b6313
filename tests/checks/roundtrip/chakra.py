# Chakra of ts-export against the trace that it was made of:
#     python3 chakra.py FILE.et EVENTS.json [NODES EDGES]
# EVENTS.json is what ts-view --events --json lists of the trace. The file is
# decoded by the public schema (mlcommons/chakra, schema/protobuf/et_def.proto).
import collections
import json
import sys

INVALID, METADATA, LOAD, STORE, COMPUTE, SEND, RECEIVE, COLLECTIVE = range(8)
KINDS = ['AllReduce', 'Reduce', 'AllGather', 'Gather', 'Scatter', 'Broadcast',
         'AllToAll', 'ReduceScatter', None, 'Barrier']
WORK = ('kernel', 'memcpy', 'memset', 'collective')


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            assert tag & 7 == 2, tag
            size, at = varint(data, at)
            value = data[at:at + size]
            assert len(value) == size
            at += size
        yield tag >> 3, value


def packed(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def attribute(data):
    parts = dict(fields(data))
    (kind, value), = ((k, v) for k, v in parts.items() if k != 1)
    name = parts[1].decode()
    expected = {'is_cpu_op': 27, 'pg_name': 29, 'exporter': 29, 'pid': 13,
                'tensor_size': 13, 'comm_src': 7, 'comm_dst': 7}
    assert kind == expected.get(name, 9), (name, kind)
    return name, value.decode() if kind == 29 else value


def node_of(data):
    node = {'deps': [], 'attr': {}}
    for number, value in fields(data):
        if number in (1, 3, 6, 7):
            node[{1: 'id', 3: 'type', 6: 'start', 7: 'us'}[number]] = value
        elif number == 2:
            node['name'] = value.decode()
        elif number == 5:
            node['deps'] = packed(value)
        else:
            assert number == 10, number
            name, of = attribute(value)
            assert name not in node['attr'], name
            node['attr'][name] = of
    return node


def read(path):
    with open(path, 'rb') as source:
        data = source.read()
    at, messages = 0, []
    while at < len(data):
        size, at = varint(data, at)
        messages.append(data[at:at + size])
        assert len(messages[-1]) == size
        at += size
    head = [attribute(v) for k, v in fields(messages[0]) if k == 2]
    assert ('exporter', 'TraceSmith') in head, head
    return [node_of(m) for m in messages[1:]]


# The order in which all can run; fails if there is a cycle.
def in_order(nodes):
    left = {n['id']: len(n['deps']) for n in nodes.values()}
    after = collections.defaultdict(list)
    for n in nodes.values():
        for dep in n['deps']:
            after[dep].append(n['id'])
    ready = [i for i, count in left.items() if not count]
    for i in ready:
        for other in after[i]:
            left[other] -= 1
            if not left[other]:
                ready.append(other)
    assert len(ready) == len(nodes), 'a cycle'
    return [nodes[i] for i in ready]


def type_of(event):
    if event['kind'] == 'memcpy':
        return LOAD if event['label'] == 'memcpy h2d' else \
            STORE if event['label'] == 'memcpy d2h' else COMPUTE
    if event['kind'] != 'collective':
        return COMPUTE
    label = event['label']
    return SEND if label == 'Send' else RECEIVE if label == 'Recv' else \
        COLLECTIVE if label in KINDS else COMPUTE


listed = read(sys.argv[1])
nodes = {n['id']: n for n in listed}
assert len(nodes) == len(listed), 'an id is used twice'
with open(sys.argv[2]) as source:
    events = json.load(source)['events']
edges = sum(len(n['deps']) for n in listed)
if len(sys.argv) > 3:
    assert [len(listed), edges] == [int(a) for a in sys.argv[3:5]]

# Each operation that works is a node with its times, name and type.
first = min(e['start_ns'] for e in events)
wanted = collections.Counter(
    (e['start_ns'] - first, e['duration_ns'],
     e['kind'] if e['kind'].startswith('mem') else e['label'], type_of(e))
    for e in events if e['kind'] in WORK)
found = collections.Counter(
    (n['attr']['start_ns'], n['attr']['duration_ns'], n['name'], n['type'])
    for n in listed if not n['attr']['is_cpu_op'])
assert not wanted - found, (wanted - found).most_common(3)

for n in in_order(nodes):
    attr = n['attr']
    start, ns = attr['start_ns'], attr['duration_ns']
    assert ns >= 0 and n['start'] == start // 1000, n
    assert n['us'] == (max(1, (ns + 500) // 1000) if ns else 0), n
    assert len(set(n['deps'])) == len(n['deps']), n
    assert (n['type'] >= SEND) == ('comm_size' in attr), n
    assert (n['type'] == COLLECTIVE) == ('comm_type' in attr), n
    # A simulator reads the group as a positive int.
    assert 0 <= int(attr.get('pg_name', 0)) < 2 ** 31, n
    if n['type'] == COLLECTIVE:
        assert KINDS[attr['comm_type']] == n['name'], n
    # What it depends on had ended, but for the call that launched it.
    for dep in n['deps']:
        other = nodes[dep]['attr']
        launched = other['is_cpu_op'] and not attr['is_cpu_op']
        assert launched or other['start_ns'] + other['duration_ns'] <= start, \
            (n, nodes[dep])

# In the order of a stream each waits for the one before, or what is before that.
streams = collections.defaultdict(list)
for n in listed:
    if not n['attr']['is_cpu_op'] and n['attr']['duration_ns']:
        streams[tuple(n['attr'].get(key) for key in
                      ('device', 'context', 'stream', 'pid'))].append(n)
for chain in streams.values():
    chain.sort(key=lambda n: n['attr']['start_ns'])
    for before, n in zip(chain, chain[1:]):
        ended = before['attr']['start_ns'] + before['attr']['duration_ns']
        todo, known = list(n['deps']), set()
        while todo and ended <= n['attr']['start_ns']:
            dep = todo.pop()
            if dep == before['id']:
                break
            other = nodes[dep]
            if dep not in known and other['attr']['start_ns'] >= ended:
                todo += other['deps']
            known.add(dep)
        else:
            assert ended > n['attr']['start_ns'], (before, n)
print(f'{len(listed)} nodes, {edges} edges, {sum(wanted.values())} operations '
      f'on {len(streams)} streams')
