-- Refused sales of tills, and files that people bring and take.

create table ops.refused_sales (
  company_id bigint not null,
  id bigint generated always as identity,
  digest bytea not null,
  offline_id text,
  user_id bigint not null,
  first_refused_at timestamptz not null,
  last_refused_at timestamptz not null,
  times integer not null,
  code text not null,
  message text not null,
  errors json not null,
  payload text,
  sold_at timestamptz,
  total_cents bigint,
  resolved_at timestamptz,
  resolved_by bigint,
  resolution_note text,
  sale_id bigint,
  -- Another installation, which a company may come from, gives out the same ids.
  primary key (company_id, id),
  unique (company_id, digest)
);
comment on table ops.refused_sales is 'Uploads of tills that were refused, until a person resolves them. They are in no ledger.';
comment on column ops.refused_sales.digest is 'SHA-256 of the sale as sent; the same one is stored once.';
comment on column ops.refused_sales.user_id is 'User of the last upload.';
comment on column ops.refused_sales.payload is 'JSON as sent, which Postgres would not always take as such; null where it was too large to keep.';
comment on column ops.refused_sales.sold_at is 'What the till says that it took, for the cash count: 0 for a cancelled sale, null where its text does not say.';
comment on column ops.refused_sales.total_cents is 'Cents that the till says it took; null if its text does not say.';
comment on column ops.refused_sales.resolved_by is 'Null where the till settled it by uploading a corrected sale.';
comment on column ops.refused_sales.resolution_note is 'What was done about it, in the words of the person who settled it.';
comment on column ops.refused_sales.sale_id is 'The sale that a person has recorded for it; null where none was.';
create index refused_sales_open on ops.refused_sales (company_id, id) where resolved_at is null;
-- Resolved refusals are purged by age.
create index refused_sales_resolved on ops.refused_sales (greatest(resolved_at, last_refused_at)) where resolved_at is not null;

create table ops.imports (
  company_id bigint not null,
  user_id bigint not null,
  kind text not null check (kind in ('items', 'customers', 'suppliers', 'nfe')),
  file bytea not null,
  uploaded_at timestamptz not null default now(),
  master_key_id bytea generated always as (substring(file from 2 for 8)) stored references ops.master_keys,
  primary key (company_id, user_id)
);
comment on table ops.imports is 'File that a user is about to import, kept for an hour at most.';
comment on column ops.imports.file is 'Text of the file, sealed.';
create index imports_by_master_key on ops.imports (master_key_id, company_id, user_id);
create index imports_by_upload on ops.imports (uploaded_at);

create table ops.downloads (
  company_id bigint not null,
  id bigint generated always as identity,
  user_id bigint not null,
  kind text not null check (kind in ('audit_pack', 'opened_audit_pack', 'person_file')),
  subject text,
  begun_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp(),
  done bigint not null default 0,
  total bigint not null default 0,
  ended_at timestamptz,
  is_whole boolean,
  -- As refused_sales.
  primary key (company_id, id)
);
comment on table ops.downloads is 'Downloads of audit packs and data exports, with their progress; no contents.';
comment on column ops.downloads.subject is 'Of a person''s file, as customer/9.';
comment on column ops.downloads.seen_at is 'Updated each second while the download runs.';
comment on column ops.downloads.done is 'Of an audit pack: events written so far.';
comment on column ops.downloads.total is 'Of an audit pack: events to write.';
create index downloads_by_begin on ops.downloads (begun_at);

create table ops.item_pictures (
  company_id bigint not null,
  catalog_item_id bigint not null,
  digest bytea,
  content bytea check (octet_length(content) <= 204800),
  stored_at timestamptz not null,
  primary key (company_id, catalog_item_id)
);
comment on table ops.item_pictures is 'Pictures of catalog items. The ledger has their digests only.';
comment on column ops.item_pictures.digest is 'SHA-256; null after a deletion.';
-- WebP is compressed already.
alter table ops.item_pictures alter column content set storage external;

create table ops.company_logos (
  company_id bigint primary key,
  digest bytea,
  content bytea check (octet_length(content) <= 204800),
  stored_at timestamptz not null
);
comment on table ops.company_logos is 'Uploaded logos of companies.';
comment on column ops.company_logos.digest is 'SHA-256; null after a deletion.';
alter table ops.company_logos alter column content set storage external;
