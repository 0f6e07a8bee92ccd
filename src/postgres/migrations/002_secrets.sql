-- What the master key seals. Every sealed column has `master_key_id` beside it: the bytes after the first one of what it has sealed
-- (src/crypto/vault.ts). By the reference no row takes a seal by a key that the database does not know, and no key is forgotten that a
-- row needs.

-- One key, and while it is being changed its successor too.
create table ops.master_keys (
  id bytea primary key,
  created_at timestamptz not null default clock_timestamp()
);

-- Keys of the personal fields of events: one for each part of a person. Made and destroyed under the lock of the company's ledger.
-- The row of a destroyed key stays, without the key: what it has sealed reads as null, and no other key is made.
create table ops.person_keys (
  key_id uuid primary key,
  company_id bigint not null,
  -- As customer/9.
  subject text not null,
  part text not null check (part in ('identity', 'contact')),
  -- Sealed.
  wrapped bytea,
  created_at timestamptz not null,
  destroyed_at timestamptz,
  master_key_id bytea generated always as (substring(wrapped from 2 for 8)) stored references ops.master_keys,
  unique (company_id, subject, part),
  check ((wrapped is null) = (destroyed_at is not null))
);
create index person_keys_by_master_key on ops.person_keys (master_key_id, key_id);
-- Keys that have ended lately: what they sealed is looked for once more, and keys of a restored backup are compared with them.
create index person_keys_by_end on ops.person_keys (destroyed_at) where destroyed_at is not null;

-- Secrets that are made once, and that all processes share.
create table ops.installation_secrets (
  name text primary key,
  -- Base64 in JSON, sealed.
  secret bytea not null,
  master_key_id bytea generated always as (substring(secret from 2 for 8)) stored references ops.master_keys
);
create index installation_secrets_by_master_key on ops.installation_secrets (master_key_id, name);
