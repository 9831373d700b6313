# Execution traces of PyTorch joined with the profiler's trace:
#     python3 execution.py make FOLDER
#     python3 execution.py compare FOLDER TRACE.json FORMAT
# FOLDER gets profile.json, execution.json (schema 1.1.1-chakra.0.0.4), old.json
# (1.0.1) and chakra.et, all of the same run. TRACE.json is what ts-view lists
# of the joined trace: each operator has exactly the arguments of its node.
import json
import random
import struct
import sys

task, folder = sys.argv[1:3]
PROCESS = 4711
random.seed(5)


def tensor():
    shape = [random.randrange(1, 65) for _ in range(random.randrange(4))]
    count = 1
    for size in shape:
        count *= size
    return [random.randrange(1, 999), random.randrange(1, 99), 0, count, 4,
            random.choice(['cpu', 'cuda:0'])], shape, 'Tensor(float)'


def value():
    return random.choice([
        (random.randrange(-9, 9), [], 'Int'), (0.5, [], 'Double'),
        (True, [], 'Bool'), ('<None>', [], 'None'), ('a"b\\c\u00e9', [], 'String'),
        ([1, -1], [[]], 'GenericList[Int]')]) if random.random() < .4 else tensor()


nodes = []
for number in range(2000):
    inputs = [value() for _ in range(random.randrange(4))]
    outputs = [tensor() for _ in range(random.randrange(3))]
    nodes.append({
        'id': 3 * number + 2, 'parent': 3 * max(number - 1, 0) + 2,
        'name': f'aten::op{random.randrange(30)}', 'inputs': inputs,
        'outputs': outputs, 'rf_id': 2 * number, # 0: none
        'op_schema': random.choice(['', 'aten::op(Tensor a) -> Tensor']),
        'seq_id': random.randrange(-1, 9)})
# A third has no row in the profile, and a third of the rows no node.
rows = [(n['rf_id'], n['name']) for n in nodes if n['id'] % 9 != 2]
rows += [(2 * i + 1, 'aten::other') for i in range(500)]
rows.append((nodes[7]['rf_id'], nodes[7]['name'] + 'x')) # another name


def parts(list_of):
    return [[v[i] for v in list_of] for i in range(3)]


def modern(n):
    attrs = [('rf_id', 'uint64', n['rf_id']), ('seq_id', 'int64', n['seq_id']),
             ('op_schema', 'string', n['op_schema'])]
    node = {'id': n['id'], 'name': n['name'], 'ctrl_deps': n['parent']}
    for key in ('inputs', 'outputs'):
        node[key] = dict(zip(('values', 'shapes', 'types'), parts(n[key])))
    node['attrs'] = [dict(zip(('name', 'type', 'value'), a)) for a in attrs]
    return node


def old(n):
    node = {key: n[key] for key in ('name', 'id', 'rf_id', 'parent', 'seq_id',
                                    'op_schema')}
    for key in ('input', 'output'):
        node[key + 's'], node[key + '_shapes'], node[key + '_types'] = \
            parts(n[key + 's'])
    return node


def compact(value):
    return json.dumps(value, separators=(',', ':'), ensure_ascii=False)


# What a node's arguments are, by key.
def expected(n):
    known = {'id': n['id'], 'ctrl_deps': n['parent'], 'seq_id': n['seq_id'],
             'op_schema': n['op_schema']}
    for key in ('input', 'output'):
        for suffix, part in zip(('s', '_shapes', '_types'), parts(n[key + 's'])):
            known[key + suffix] = compact(part) if part else ''
    return {f'et.{k}': v for k, v in known.items() if v != ''}


# ---- Protobuf --------------------------------------------------------------


def varint(number):
    number &= 2 ** 64 - 1
    out = b''
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, content):
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    if isinstance(content, str):
        content = content.encode()
    return varint(number << 3 | 2) + varint(len(content)) + content


def attribute(name, value, number):
    return field(10, field(1, name) + field(number, value))


def chakra(n):
    message = field(1, n['id']) + field(2, n['name']) + field(3, 4) + \
        field(4, varint(n['parent'])) + field(6, 10) + field(7, 2)
    for number, key in ((8, 'inputs'), (9, 'outputs')):
        message += field(number, b''.join(
            field(i + 1, compact(part) if part else '')
            for i, part in enumerate(parts(n[key]))))
    return message + attribute('rf_id', n['rf_id'], 9) + \
        attribute('seq_id', n['seq_id'], 9) + \
        attribute('op_schema', n['op_schema'], 29) + \
        attribute('is_cpu_op', 1, 27)


def delimited(message):
    return varint(len(message)) + message


def write(name, content):
    with open(f'{folder}/{name}', 'wb') as out:
        out.write(content if isinstance(content, bytes)
                  else json.dumps(content).encode())


def make():
    head = {'pid': PROCESS, 'time': '2026-11-28 12:00:00', 'start_ts': 1}
    write('execution.json', {'schema': '1.1.1-chakra.0.0.4', **head,
                             'nodes': [modern(n) for n in nodes],
                             'finish_ts': 2})
    write('old.json', {'schema': '1.0.1', **head,
                       'nodes': [old(n) for n in nodes], 'finish_ts': 2})
    write('chakra.et', delimited(field(2, field(1, 'pid') + field(
        13, PROCESS)) + field(2, field(1, 'schema') + field(
            29, '1.1.1-chakra.0.0.4'))) +
        b''.join(delimited(chakra(n)) for n in nodes))
    write('profile.json', {'schemaVersion': 1, 'traceEvents': [
        {'ph': 'X', 'cat': 'cpu_op', 'name': name, 'pid': PROCESS, 'tid': 1,
         'ts': 100 + 10 * i, 'dur': 5, 'args': {'Record function id': id}}
        for i, (id, name) in enumerate(rows)]})
    write('other.json', {'schemaVersion': 1, 'traceEvents': [
        {'ph': 'X', 'cat': 'cpu_op', 'name': name, 'pid': PROCESS + 1, 'tid': 1,
         'ts': 100 + 10 * i, 'dur': 5, 'args': {'Record function id': id}}
        for i, (id, name) in enumerate(rows[:9])]})


# ---- Comparing -------------------------------------------------------------


def compare(path, is_chakra):
    by_id = {n['rf_id']: n for n in nodes if n['rf_id']}
    zones, args = {}, {}
    with open(path) as trace:
        events = json.load(trace)['events']
    for event in events:
        if event['kind'] == 'zone':
            zones[event['start_ns']] = event['label']
        else:
            known = event['values']
            args.setdefault(event['start_ns'], {})[event['label']] = \
                known['text'] if 'text' in known else known['value']
    assert len(zones) == len(rows), (len(zones), len(rows))
    first, joined = min(zones), 0
    for i, (id, name) in enumerate(rows):
        at = first + 10000 * i
        node = by_id.get(id)
        wanted = {'Record function id': id}
        if node and node['name'] == name:
            wanted.update(expected(node))
            joined += 1
            if is_chakra:
                wanted['et.ctrl_deps'] = f'[{node["parent"]}]'
                wanted['et.is_cpu_op'] = 1
        assert zones[at] == name, (zones[at], name)
        assert args.get(at, {}) == wanted, (args.get(at), wanted)
    print(f'{joined} of {len(rows)} operators joined')


if task == 'make':
    make()
else:
    compare(sys.argv[3], sys.argv[4:] == ['chakra'])
