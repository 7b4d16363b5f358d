-- What attempts wrote, in pieces, and which bytes are gone.

-- name: find_log_head
SELECT size, cut_begin, cut_end FROM log_heads WHERE task_key = $1 AND epoch = $2;

-- name: find_log_heads
SELECT h.task_key, h.epoch, h.size, h.cut_begin, h.cut_end
FROM unnest($1::bigint[], $2::bigint[]) AS n(task_key, epoch)
JOIN log_heads h ON h.task_key = n.task_key AND h.epoch = n.epoch;

-- name: write_log_head
INSERT INTO log_heads (task_key, epoch, size, cut_begin, cut_end) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (task_key, epoch) DO UPDATE SET size = $3, cut_begin = $4, cut_end = $5;

-- name: insert_log_chunk
INSERT INTO log_chunks (task_key, epoch, "offset", size, data) VALUES ($1, $2, $3, $4, $5);

-- Pieces that lie in the cut as a whole.
-- name: cut_log_chunks
DELETE FROM log_chunks
WHERE task_key = $1 AND epoch = $2 AND "offset" >= $3 AND "offset" < $4 AND "offset" + size <= $4;

-- From the piece that holds byte $3 up to byte $4.
-- name: read_log_chunks
SELECT "offset", size, data FROM log_chunks
WHERE task_key = $1 AND epoch = $2 AND "offset" < $4
  AND "offset" >= coalesce((SELECT max("offset") FROM log_chunks
                          WHERE task_key = $1 AND epoch = $2 AND "offset" <= $3), 0)
ORDER BY "offset";
