-- +goose Up

-- The status has the people who have not voted, and hubs keep the pending questions in memory. The column
-- addressed of questions is no longer written.
-- Hubs of before write both.
UPDATE streams SET min_schema = 14;
DROP TABLE awaiting;
