-- +goose Up

-- The status has the people who have not voted, and hubs keep the pending questions in memory. The column
-- addressed of questions is no longer written.
DROP TABLE awaiting;
