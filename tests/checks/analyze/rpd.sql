-- The sums that answers.mjs prints, of a ROCm profile (RPD).
CREATE TEMP TABLE ops AS
SELECT o.id, gpuId AS d, start AS s, end AS e, type.string AS type,
    name.string AS name
FROM rocpd_op o JOIN rocpd_string type ON type.id = opType_id
    JOIN rocpd_string name ON name.id = description_id;
CREATE TEMP VIEW covered AS
SELECT d, s, e,
    max(e) OVER (PARTITION BY d ORDER BY s, e
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until
FROM ops;
CREATE TEMP VIEW covered_kernels AS
SELECT d, s, e,
    max(e) OVER (PARTITION BY d ORDER BY s, e
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until
FROM ops WHERE type NOT LIKE 'Copy%';
CREATE TEMP TABLE busy AS
SELECT d, sum(max(0, e - max(s, ifnull(until, s)))) AS ns FROM covered
    GROUP BY d;
CREATE TEMP TABLE running AS
SELECT d, sum(max(0, e - max(s, ifnull(until, s)))) AS ns
    FROM covered_kernels GROUP BY d;
CREATE TEMP TABLE spans AS
SELECT d, count(*) AS n, max(e) - min(s) AS ns FROM ops GROUP BY d;
SELECT 'device ' || d || ' work ' || n || ' busy ' || busy.ns || ' idle ' ||
    (spans.ns - busy.ns) || ' exposed 0 kernels ' || running.ns
    FROM spans JOIN busy USING (d) JOIN running USING (d);
SELECT 'kernel ' || count(*) || ' ' || sum(e - s) || ' ' || min(e - s) ||
    ' ' || max(e - s) || ' ' || name
    FROM ops WHERE type NOT LIKE 'Copy%' GROUP BY name;
SELECT 'copy ' || count(*) || ' ' || sum(size) || ' ' || sum(e - s) || ' ' ||
    CASE type WHEN 'CopyHostToDevice' THEN 'host to device'
        WHEN 'CopyDeviceToHost' THEN 'device to host'
        WHEN 'CopyDeviceToDevice' THEN 'device to device' END
    FROM ops LEFT JOIN rocpd_api_ops ON op_id = ops.id
        LEFT JOIN rocpd_copyapi ON api_ptr_id = api_id
    WHERE type LIKE 'Copy%' GROUP BY type;
