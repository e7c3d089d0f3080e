-- +goose Up

-- Names of people in CODEOWNERS files.
ALTER TABLE people ADD COLUMN handles TEXT NOT NULL DEFAULT ''; -- separated by spaces
