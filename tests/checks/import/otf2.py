# An archive of OTF2, which its own module for Python writes:
#     python3 otf2.py make FOLDER COUNT       COUNT rounds of two processes
#     python3 otf2.py odd FOLDER              what seldom is in one
#     python3 otf2.py compare FOLDER TRACE    are its events those of the trace?
# The first leaves what is expected in FOLDER.expected, as lines of rows. The
# folders of tests/tools/import/otf2 are "make rounds 1" and "odd odd".
import csv
import random
import re
import subprocess
import sys

sys.path.pop(0)  # a module of this name lies there
import otf2
from otf2.enums import (CollectiveOp, GroupType, LocationGroupType,
                        LocationType, Paradigm, ParadigmClass, RegionRole,
                        SystemTreeDomain, Type)

TICKS = 3000000000  # a second: three in a nanosecond
OFFSET = 7000

QUERIES = (
    ('zone', 'SELECT start_ns, end_ns, name, category, source, line, thread, '
     'process FROM zone'),
    ('arg', 'SELECT start_ns, zone, name, value FROM zone_arg'),
    ('call', 'SELECT start_ns, end_ns, name, thread FROM api_call'),
    ('operation', 'SELECT kind, name, start_ns, end_ns, size, copy, device, '
     'stream FROM gpu_op'),
    ('counter', 'SELECT time_ns, name, unit, value FROM counter'),
    ('flow', 'SELECT time_ns, phase, thread FROM flow'),
    ('track', 'SELECT type, name, number FROM track'))


def ns(ticks):
    return (2 * (ticks - OFFSET) * 10**9 + TICKS) // (2 * TICKS)


class Location:
    """Writes the events of a location and what becomes of them."""

    def __init__(self, writer, name, rank, rows):
        self.writer, self.name, self.rank = writer, name, rank
        self.rows, self.open, self.time = rows, [], OFFSET

    def after(self, ticks):
        self.time += ticks
        return self.time

    def enter(self, region, ticks, **more):
        self.writer.enter(self.after(ticks), region, **more)
        self.open.append((region, self.time))

    def leave(self, ticks, category):
        region, start = self.open.pop()
        self.writer.leave(self.after(ticks), region)
        self.rows.append(('zone', ns(start), ns(self.time), region.name,
                          category, region.source_file,
                          region.begin_line_number, self.name, self.rank))

    def arg(self, name, value):
        region, start = self.open[-1]
        self.rows.append(('arg', ns(start), region.name, name, value))


def make(folder, count):
    draw = random.Random(1)
    rows = []
    with otf2.writer.open(folder, timer_resolution=TICKS) as trace:
        d = trace.definitions
        d.paradigm(Paradigm.USER, name='User',
                   paradigm_class=ParadigmClass.THREAD_FORK_JOIN)
        d.paradigm(Paradigm.MPI, name='MPI',
                   paradigm_class=ParadigmClass.PROCESS)
        node = d.system_tree_node('node 1')
        card = d.system_tree_node('card', parent=node)
        d.system_tree_node_domain(card, SystemTreeDomain.ACCELERATOR_DEVICE)
        region = {
            name: d.region(name, source_file=file, begin_line_number=line,
                           region_role=role, paradigm=paradigm)
            for name, file, line, role, paradigm in (
                ('main', 'a.c', 3, RegionRole.FUNCTION, Paradigm.USER),
                ('step', 'b.c', 14, RegionRole.LOOP, Paradigm.USER),
                ('MPI_Send', '', 0, RegionRole.POINT2POINT, Paradigm.MPI),
                ('MPI_Irecv', '', 0, RegionRole.POINT2POINT, Paradigm.MPI),
                ('MPI_Waitall', '', 0, RegionRole.POINT2POINT, Paradigm.MPI),
                ('MPI_Allreduce', '', 0, RegionRole.COLL_ALL2ALL,
                 Paradigm.MPI),
                ('cuLaunchKernel', '', 0, RegionRole.WRAPPER, Paradigm.CUDA),
                ('gemm', '', 0, RegionRole.FUNCTION, Paradigm.CUDA))}
        size = d.attribute('size', type=Type.INT64)
        what = d.attribute('what', type=Type.STRING)
        share = d.attribute('share', type=Type.DOUBLE)
        turn = d.parameter('turn', otf2.ParameterType.INT64)
        heat = d.metric_member('heat', value_type=Type.DOUBLE, unit='K')
        loads = d.metric_member('loads', value_type=Type.INT64, unit='B',
                                base=otf2.Base.BINARY, exponent=10)
        metric = d.metric_class((heat, loads))
        threads, stream = [], None
        for rank in range(2):
            process = f'MPI Rank {rank}'
            group = d.location_group(process, system_tree_parent=node)
            name = f'Master thread {rank}'
            location = d.location(name, type=LocationType.CPU_THREAD,
                                  group=group)
            threads.append(Location(trace.event_writer_from_location(location),
                                    name, rank, rows))
            threads[-1].location = location
        device = d.location_group('GPU', system_tree_parent=card,
                                  creating_location_group=group,
                                  location_group_type=(
                                      LocationGroupType.ACCELERATOR))
        place = d.location('CUDA[0:7]', group=device,
                           type=LocationType.ACCELERATOR_STREAM)
        stream = Location(trace.event_writer_from_location(place),
                          'CUDA[0:7]', None, rows)
        everyone = d.group('', group_type=GroupType.COMM_LOCATIONS,
                           paradigm=Paradigm.MPI,
                           members=[t.location for t in threads])
        ranks = d.group('world', group_type=GroupType.COMM_GROUP,
                        paradigm=Paradigm.MPI, members=[0, 1])
        world = d.comm('MPI_COMM_WORLD', group=ranks)
        d.group('', group_type=GroupType.COMM_LOCATIONS,
                paradigm=Paradigm.CUDA,
                members=[threads[0].location, place])
        both = d.group('cuda', group_type=GroupType.COMM_GROUP,
                       paradigm=Paradigm.CUDA, members=[0, 1])
        window = d.rma_win('window', comm=d.comm('cuda', group=both))
        assert everyone

        first, second = threads
        for t in threads:
            t.enter(region['main'], 0) # the offset of the clock
        for i in range(count):
            for t in threads:
                n = draw.randrange(-9, 1 << 40)
                t.enter(region['step'], draw.randrange(1, 50), attributes={
                    size: n, what: f'text {i % 7}', share: i / 4})
                t.arg('size', n)
                t.arg('what', f'text {i % 7}')
                t.arg('share', i / 4)
                t.writer.parameter_int(t.after(1), turn, i)
                t.arg('turn', i)
                t.writer.metric(t.after(1), metric, (i + .5, i))
                rows.append(('counter', ns(t.time), 'heat', 'K', i + .5))
                rows.append(('counter', ns(t.time), 'loads', 'B', i << 10))

            # Two receives, of which the second one ends first.
            posted = [2 * i, 2 * i + 1]
            for request in posted:
                second.enter(region['MPI_Irecv'], 2)
                second.writer.mpi_irecv_request(second.after(1), request)
                second.leave(1, 'MPI')
            for request in posted:
                first.enter(region['MPI_Send'], 9)
                first.writer.mpi_send(first.after(3), 1, world, i % 3,
                                      100 + request)
                first.arg('receiver', 1)
                first.arg('tag', i % 3)
                first.arg('bytes', 100 + request)
                rows.append(('flow', ns(first.time), 'start', first.name))
                first.leave(6, 'MPI')
            second.enter(region['MPI_Waitall'], 3)
            for request in reversed(posted):
                second.writer.mpi_irecv(second.after(40), 0, world, i % 3,
                                        100 + request, request)
                second.arg('sender', 0)
                second.arg('tag', i % 3)
                second.arg('bytes', 100 + request)
                rows.append(('flow', ns(second.time), 'end', second.name))
            second.leave(2, 'MPI')

            for t in threads:
                t.enter(region['MPI_Allreduce'], 3)
                t.writer.mpi_collective_begin(t.after(1))
                t.writer.mpi_collective_end(
                    t.after(30), CollectiveOp.ALLREDUCE, world,
                    otf2.CollectiveRoot.NONE, 16, 24)
                t.arg('collective', 'allreduce')
                t.arg('communicator', 'MPI_COMM_WORLD')
                t.arg('bytes_sent', 16)
                t.arg('bytes_received', 24)
                t.leave(1, 'MPI')

            call = region['cuLaunchKernel']
            first.writer.enter(first.after(2), call)
            start = first.time
            first.writer.leave(first.after(12), call)
            rows.append(('call', ns(start), ns(first.time), call.name,
                         first.name))
            start = stream.after(draw.randrange(1, 90))
            stream.writer.enter(start, region['gemm'])
            stream.writer.leave(stream.after(77), region['gemm'])
            rows.append(('operation', 'kernel', 'gemm', ns(start),
                         ns(stream.time), '', '', 0, 2))
            start = stream.after(3)
            if i % 2:
                stream.writer.rma_get(start, window, 0, 4096 + i, 42)
            else:
                stream.writer.rma_put(start, window, 0, 4096 + i, 42)
            stream.writer.rma_op_complete_blocking(stream.after(9), window, 42)
            copy = 'host_to_device' if i % 2 else 'device_to_host'
            rows.append(('operation', 'memcpy', None, ns(start),
                         ns(stream.time), 4096 + i, copy, 0, 2))
            for t in threads:
                t.leave(draw.randrange(1, 9), 'User')
        for t in threads:
            t.leave(5, 'User')
    base = min(row[1] if isinstance(row[1], int) else row[3] for row in rows)
    for rank in range(2):
        rows += [('track', 'process', f'MPI Rank {rank}', rank),
                 ('track', 'thread', f'Master thread {rank}', rank),
                 ('track', 'counter', 'heat', 0),
                 ('track', 'counter', 'loads', 0)]
    rows += [('track', 'device', 'GPU', 0), ('track', 'stream', 'CUDA[0:7]', 2)]
    with open(folder + '.expected', 'w') as out:
        csv.writer(out).writerows(moved(row, base) for row in rows)


def odd(folder):
    with otf2.writer.open(folder, timer_resolution=10**9) as trace:
        d = trace.definitions
        node = d.system_tree_node('node')
        group = d.location_group('app', system_tree_parent=node)
        thread = d.location('thread', type=LocationType.CPU_THREAD,
                            group=group)
        stream = d.location('stream', group=group,
                            type=LocationType.ACCELERATOR_STREAM)
        probe = d.location('probe', type=LocationType.METRIC, group=group)
        region = {
            name: d.region(name, region_role=role, paradigm=Paradigm.CUDA)
            for name, role in (('work', RegionRole.FUNCTION),
                               ('idle', RegionRole.ARTIFICIAL),
                               ('copy', RegionRole.DATA_TRANSFER))}
        context = d.calling_context(region['work'], parent=None)
        big = d.metric_member('big', value_type=Type.UINT64)
        small = d.metric_member('small', value_type=Type.INT64, exponent=-3,
                                unit='V')
        metric = d.metric_class((big, small))
        total = d.metric_instance(metric, recorder=probe, scope=node)
        here = d.metric_instance(metric, recorder=probe, scope=thread)
        size = d.attribute('size', type=Type.UINT8)
        d.group('', group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI,
                members=[thread])
        own = d.group('self', group_type=GroupType.COMM_SELF,
                      paradigm=Paradigm.MPI, members=[])
        comm = d.comm('MPI_COMM_SELF', group=own)

        w = trace.event_writer_from_location(thread)
        w.program_begin(1, 'app', ())
        w.leave(100, region['work'])  # without its enter
        w.calling_context_enter(110, context, 1)
        w.mpi_send(120, 0, comm, 1, 8)  # to itself
        w.mpi_recv(130, 0, comm, 1, 8)
        w.mpi_send(140, 0, comm, 2, 8)  # never received
        w.mpi_send(145, 1, comm, 2, 8)  # to nobody
        w.calling_context_leave(150, context)
        late = d.parameter('late', otf2.ParameterType.INT64)
        w.parameter_int(155, late, 1)
        w.rma_put(157, d.rma_win('w', comm=comm), 0, 9, 1)
        w.enter(160, region['work'], attributes={size: 200})  # until the end

        w = trace.event_writer_from_location(stream)
        w.enter(100, region['idle'])
        w.leave(150, region['idle'])
        w.enter(160, region['copy'], attributes={size: 7})
        w.leave(170, region['copy'])
        w.parameter_int(175, late, 2)
        w.mpi_collective_end(177, CollectiveOp.BARRIER, comm, 0, 0, 0)
        w.enter(180, region['work'])

        w = trace.event_writer_from_location(probe)
        w.metric(100, metric, (2**63 + 2048, 1500))
        w.metric(110, total, (1, 2))
        w.metric(120, here, (3, 4))


def moved(row, base):
    """A trace begins at 0."""
    times = {'zone': (1, 2), 'call': (1, 2), 'operation': (3, 4), 'track': ()}
    at = times.get(row[0], (1,))
    return [cell - base if i in at else cell for i, cell in enumerate(row)]


def plain(row):
    """A name of a copy, and numbers that are equal, are the same text."""
    cells = ['' if cell in ('0', '0.0', 'NULL') else
             re.sub(r'\.0$', '', cell) for cell in row]
    if cells[:2] == ['operation', 'memcpy']:
        cells[2] = ''
    return tuple(cells)


def compare(folder, trace):
    with open(folder + '.expected', newline='') as lines:
        expected = sorted(plain(row) for row in csv.reader(lines))
    found = []
    for kind, query in QUERIES:
        text = subprocess.run(['build/ts-query', '--csv', trace, query],
                              stdout=subprocess.PIPE, text=True,
                              check=True).stdout
        found += [plain([kind] + row)
                  for row in list(csv.reader(text.splitlines()))[1:]]
    found.sort()
    printed = subprocess.run(['otf2-print', folder + '/traces.otf2'],
                             stdout=subprocess.PIPE, text=True,
                             check=True).stdout
    enters = len(re.findall('^ENTER ', printed, re.M))
    regions = sum(row[0] in ('zone', 'call') or row[1] == 'kernel'
                  for row in found)
    print(f'{len(found)} rows, {enters} regions of otf2-print, {regions} here')
    for row in sorted(set(expected) ^ set(found))[:10]:
        print('expected' if row in expected else 'found', row)
    return found == expected and enters == regions


if sys.argv[1] == 'make':
    make(sys.argv[2], int(sys.argv[3]))
elif sys.argv[1] == 'odd':
    odd(sys.argv[2])
else:
    sys.exit(not compare(sys.argv[2], sys.argv[3]))
