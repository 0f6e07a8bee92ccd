-- What the master key seals. Every sealed column has `master_key_id` beside it: the bytes after the first one of what it has sealed
-- (src/crypto/vault.ts). By the reference no row takes a seal by a key that the database does not know, and no key is forgotten that a
-- row needs.

create table ops.master_keys (
  id bytea primary key,
  created_at timestamptz not null default clock_timestamp()
);
comment on table ops.master_keys is 'Ids of the master keys that seal values in this database; two during a rotation. The keys are outside the database.';

create table ops.person_keys (
  key_id uuid primary key,
  company_id bigint not null,
  subject text not null,
  part text not null check (part in ('identity', 'contact')),
  wrapped bytea,
  created_at timestamptz not null,
  destroyed_at timestamptz,
  master_key_id bytea generated always as (substring(wrapped from 2 for 8)) stored references ops.master_keys,
  unique (company_id, subject, part),
  check ((wrapped is null) = (destroyed_at is not null))
);
comment on table ops.person_keys is 'Keys of personal fields, one for each part of a person. A destroyed key keeps its row: what it sealed reads as null.';
comment on column ops.person_keys.subject is 'Record of the person: customer/9.';
comment on column ops.person_keys.wrapped is 'Key, sealed by the master key; null once destroyed.';
create index person_keys_by_master_key on ops.person_keys (master_key_id, key_id);
-- Keys that have ended lately: what they sealed is looked for once more, and keys of a restored backup are compared with them.
create index person_keys_by_end on ops.person_keys (destroyed_at) where destroyed_at is not null;

create table ops.installation_secrets (
  name text primary key,
  secret bytea not null,
  master_key_id bytea generated always as (substring(secret from 2 for 8)) stored references ops.master_keys
);
comment on table ops.installation_secrets is 'Secrets that are generated once and shared by all processes.';
comment on column ops.installation_secrets.secret is 'Sealed by the master key.';
create index installation_secrets_by_master_key on ops.installation_secrets (master_key_id, name);
