-- Payloads are stored compressed. lz4 needs less of the server's CPU than its default, if it has it.

-- +goose Up

-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)) THEN
        ALTER TABLE events ALTER COLUMN payload SET COMPRESSION lz4, ALTER COLUMN envelope SET COMPRESSION lz4;
        ALTER TABLE chats ALTER COLUMN chat SET COMPRESSION lz4;
        ALTER TABLE questions ALTER COLUMN question SET COMPRESSION lz4;
    END IF;
END $$;
-- +goose StatementEnd
