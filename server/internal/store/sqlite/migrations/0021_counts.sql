-- Finds a time in the log, and counts the decided questions, without reading events or questions.

-- +goose Up

-- The first event of each quarter-hour. No event was received after previous and before
-- received_at.
CREATE TABLE time_marks (
    stream_id   INTEGER NOT NULL,
    received_at INTEGER NOT NULL, -- of the event
    seq         INTEGER NOT NULL, -- events.seq
    previous    INTEGER NOT NULL, -- received_at of the event before it
    PRIMARY KEY (stream_id, received_at)
) WITHOUT ROWID, STRICT;

-- Each 256th stored event becomes a mark: this reads a few pages per mark.
-- previous is unknown, and received_at does not help.
INSERT OR IGNORE INTO time_marks (stream_id, received_at, seq, previous)
WITH RECURSIVE marks (seq) AS (
    SELECT min(seq) FROM events WHERE stream_id = 1
    UNION ALL
    SELECT (SELECT e.seq FROM events e WHERE e.stream_id = 1 AND e.seq >= marks.seq + 256 ORDER BY e.seq LIMIT 1)
    FROM marks WHERE marks.seq IS NOT NULL
)
SELECT 1, e.received_at, e.seq, e.received_at FROM marks CROSS JOIN events e ON e.stream_id = 1 AND e.seq = marks.seq;

ALTER TABLE streams ADD COLUMN decided INTEGER NOT NULL DEFAULT 0; -- number of rows in questions whose inbox is 'decided', as of head

UPDATE streams SET decided = (SELECT count(*) FROM questions WHERE stream_id = 1 AND inbox = 'decided')
    - (SELECT count(*) FROM changes c CROSS JOIN questions q ON q.stream_id = 1 AND q.seq = c.question
        WHERE c.stream_id = 1 AND c.seq > streams.head AND c.ends = 1 AND q.inbox = 'decided')
WHERE stream_id = 1;
