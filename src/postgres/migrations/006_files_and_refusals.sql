-- Refused sales of tills, and files that people bring and take.

-- Uploaded sales that were refused, kept until they are settled. They have not happened, so no ledger knows them.
create table ops.refused_sales (
  company_id bigint not null,
  id bigint generated always as identity,
  -- SHA-256 of the sale as it was sent: the same one is kept once, however often it comes.
  digest bytea not null,
  offline_id text,
  -- Who uploaded it last.
  user_id bigint not null,
  first_refused_at timestamptz not null,
  last_refused_at timestamptz not null,
  times integer not null,
  code text not null,
  message text not null,
  errors json not null,
  -- JSON as sent, which Postgres would not always take as such; null where it was too large to keep.
  payload text,
  -- What the till says that it took, for the cash count: 0 for a cancelled sale, null where its text does not say.
  sold_at timestamptz,
  total_cents bigint,
  settled_at timestamptz,
  -- Null where the till settled it by uploading a corrected sale.
  settled_by bigint,
  -- What was done about it, in the words of the person who settled it.
  settled_note text,
  -- The sale that a person has recorded for it; null where none was.
  sale_id bigint,
  -- Another installation, which a company may come from, gives out the same ids.
  primary key (company_id, id),
  unique (company_id, digest)
);
create index refused_sales_open on ops.refused_sales (company_id, id) where settled_at is null;
-- Resolved refusals are purged by age.
create index refused_sales_settled on ops.refused_sales (greatest(settled_at, last_refused_at)) where settled_at is not null;

-- The file that a person is about to import, the latest of each: until it is imported, or for an hour.
create table ops.imports (
  company_id bigint not null,
  user_id bigint not null,
  kind text not null check (kind in ('items', 'customers', 'suppliers')),
  -- Its text, sealed: it may hold data about people.
  file bytea not null,
  uploaded_at timestamptz not null default now(),
  master_key_id bytea generated always as (substring(file from 2 for 8)) stored references ops.master_keys,
  primary key (company_id, user_id)
);
create index imports_by_master_key on ops.imports (master_key_id, company_id, user_id);
create index imports_by_upload on ops.imports (uploaded_at);

-- Files that people have taken out of the panel: who, what, how far it came. It says nothing of what was in them.
create table ops.downloads (
  company_id bigint not null,
  id bigint generated always as identity,
  user_id bigint not null,
  what text not null check (what in ('audit_pack', 'opened_audit_pack', 'person_file')),
  -- Of a person's file, as customer/9.
  subject text,
  begun_at timestamptz not null default clock_timestamp(),
  -- Noted every second while it is under way; silence means that its process has ended.
  seen_at timestamptz not null default clock_timestamp(),
  -- Of an audit pack: events written, and to write.
  done bigint not null default 0,
  total bigint not null default 0,
  ended_at timestamptz,
  is_whole boolean,
  -- As refused_sales.
  primary key (company_id, id)
);
create index downloads_by_begin on ops.downloads (begun_at);

-- Pictures of catalog items. The ledger has their digests only: a picture that was replaced or deleted is gone.
create table ops.item_pictures (
  company_id bigint not null,
  catalog_item_id bigint not null,
  -- SHA-256; null, like the content, after a deletion.
  digest bytea,
  content bytea check (octet_length(content) <= 204800),
  stored_at timestamptz not null,
  primary key (company_id, catalog_item_id)
);
-- WebP is compressed already.
alter table ops.item_pictures alter column content set storage external;

-- Uploaded logos of companies, as pictures of items.
create table ops.company_logos (
  company_id bigint primary key,
  -- SHA-256; null, like the content, after a deletion.
  digest bytea,
  content bytea check (octet_length(content) <= 204800),
  stored_at timestamptz not null
);
alter table ops.company_logos alter column content set storage external;
