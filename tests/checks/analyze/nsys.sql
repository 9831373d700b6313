-- The sums that answers.mjs prints, of an Nsight Systems export.
CREATE TEMP TABLE work AS
SELECT deviceId AS d, start AS s, end AS e, 1 AS kernel
    FROM CUPTI_ACTIVITY_KIND_KERNEL
UNION ALL SELECT deviceId, start, end, 0
    FROM CUPTI_ACTIVITY_KIND_MEMCPY
UNION ALL SELECT deviceId, start, end, 0
    FROM CUPTI_ACTIVITY_KIND_MEMSET;
-- What each adds to the time covered by those before it.
CREATE TEMP VIEW covered AS
SELECT d, s, e, kernel,
    max(e) OVER (PARTITION BY d ORDER BY s, e
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until
FROM work;
CREATE TEMP VIEW covered_kernels AS
SELECT d, s, e,
    max(e) OVER (PARTITION BY d ORDER BY s, e
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until
FROM work WHERE kernel;
CREATE TEMP TABLE busy AS
SELECT d, sum(max(0, e - max(s, ifnull(until, s)))) AS ns FROM covered
    GROUP BY d;
CREATE TEMP TABLE running AS
SELECT d, sum(max(0, e - max(s, ifnull(until, s)))) AS ns
    FROM covered_kernels GROUP BY d;
CREATE TEMP TABLE spans AS
SELECT d, count(*) AS n, max(e) - min(s) AS ns FROM work GROUP BY d;
SELECT 'device ' || d || ' work ' || n || ' busy ' || busy.ns || ' idle ' ||
    (spans.ns - busy.ns) || ' exposed 0 kernels ' || ifnull(running.ns, 0)
    FROM spans JOIN busy USING (d) LEFT JOIN running USING (d);
SELECT 'kernel ' || count(*) || ' ' || sum(end - start) || ' ' ||
    min(end - start) || ' ' || max(end - start) || ' ' || value
    FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName
    GROUP BY value;
SELECT 'copy ' || count(*) || ' ' || sum(bytes) || ' ' || sum(end - start) ||
    ' ' || CASE copyKind WHEN 1 THEN 'host to device'
        WHEN 2 THEN 'device to host' WHEN 8 THEN 'device to device' END
    FROM CUPTI_ACTIVITY_KIND_MEMCPY GROUP BY copyKind;
SELECT 'copy ' || count(*) || ' ' || sum(bytes) || ' ' || sum(end - start) ||
    ' memset' FROM CUPTI_ACTIVITY_KIND_MEMSET;
