-- What nsys export makes of a report: two kernels and their calls.
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2025.5.2.266');
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1, 'void saxpy<float>(int)'), (2, 'saxpy'),
    (3, 'cudaLaunchKernel_v7000');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER,
    deviceId INTEGER, contextId INTEGER, streamId INTEGER,
    correlationId INTEGER, globalPid INTEGER, demangledName INTEGER,
    shortName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER,
    blockX INTEGER, blockY INTEGER, blockZ INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
    (200, 260, 0, 1, 7, 5, 167772160, 1, 2, 4, 1, 1, 64, 1, 1),
    (270, 290, 0, 1, 7, 6, 167772160, 1, 2, 4, 1, 1, 64, 1, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER,
    eventClass INTEGER, globalTid INTEGER, correlationId INTEGER,
    nameId INTEGER, returnValue INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
    (100, 150, 0, 167772171, 5, 3, 0), (160, 170, 0, 167772171, 6, 3, 0);
