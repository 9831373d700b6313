# Archives of 150 ranks, which Python's own modules write:
#     python3 archives.py FOLDER       ranks/, and ranks.tar, .zip, ... beside it
import os
import sys
import tarfile
import zipfile

folder = sys.argv[1]
os.mkdir(f'{folder}/ranks')
names = [f'rank{i}.json' for i in range(150)]
for i, name in enumerate(names):
    with open(f'{folder}/ranks/{name}', 'w') as out:
        out.write('{"schemaVersion": 1, "distributedInfo": {"rank": %d},'
                  '"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "op%d",'
                  '"pid": 1, "tid": 1, "ts": 1000, "dur": %d}]}' % (i, i, i + 1))

for mode, suffix in (('w', 'tar'), ('w:gz', 'tgz'), ('w:xz', 'txz'),
                     ('w:bz2', 'tbz')):
    for kind, label in ((tarfile.PAX_FORMAT, ''), (tarfile.USTAR_FORMAT, 'u'),
                        (tarfile.GNU_FORMAT, 'g')):
        with tarfile.open(f'{folder}/ranks.{label}{suffix}', mode,
                          format=kind) as out:
            for name in names:
                out.add(f'{folder}/ranks/{name}', f'long/{"x" * 150}/{name}'
                        if not label else name)


class Pipe:  # without seeking: sizes follow the data
    def __init__(self, path):
        self.out = open(path, 'wb')

    def write(self, data):
        return self.out.write(data)

    def flush(self):
        self.out.flush()


for method, suffix in ((zipfile.ZIP_STORED, 'stored'),
                       (zipfile.ZIP_DEFLATED, 'deflated'),
                       (zipfile.ZIP_LZMA, 'lzma')):
    with zipfile.ZipFile(f'{folder}/ranks.{suffix}.zip', 'w', method) as out:
        for name in names:
            out.write(f'{folder}/ranks/{name}', name)
with zipfile.ZipFile(Pipe(f'{folder}/ranks.piped.zip'), 'w',
                     zipfile.ZIP_DEFLATED) as out:
    for name in names:
        out.write(f'{folder}/ranks/{name}', name)
