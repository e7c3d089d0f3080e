-- First sign-ins, resets and promotions of people.

-- +goose Up

ALTER TABLE people ADD COLUMN signed_in INTEGER NOT NULL DEFAULT 0; -- 1: has signed in since the account was created or reset
ALTER TABLE people ADD COLUMN reset_at INTEGER NOT NULL DEFAULT 0; -- last reset by an admin; 0: never
ALTER TABLE people ADD COLUMN reset_by TEXT NOT NULL DEFAULT '';
ALTER TABLE people ADD COLUMN promoted_at INTEGER NOT NULL DEFAULT 0; -- when another admin made this person an admin; 0: never
ALTER TABLE people ADD COLUMN promoted_by TEXT NOT NULL DEFAULT '';

UPDATE people SET signed_in = 1 WHERE owner = 1 OR seen_at > 0
    OR EXISTS (SELECT 1 FROM sign_ins s WHERE s.person = people.name)
    OR EXISTS (SELECT 1 FROM tokens t WHERE t.person = people.name)
    OR EXISTS (SELECT 1 FROM passkeys p WHERE p.person = people.name)
    OR EXISTS (SELECT 1 FROM ledger l WHERE json_extract(CAST(l.entry AS TEXT), '$.act') = 'person.signed_in'
        AND json_extract(CAST(l.entry AS TEXT), '$.who') = people.name);

-- A token may have created these links, which is no longer allowed.
DELETE FROM sign_in_codes;
