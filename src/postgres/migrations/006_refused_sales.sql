-- Uploaded sales that were refused, kept until someone settles them. Nothing has happened by them, so no ledger knows them.
create table ops.refused_sales (
  id bigint generated always as identity primary key,
  company_id bigint not null,
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
  settled_at timestamptz,
  -- Null where the till settled it by uploading a corrected sale.
  settled_by bigint,
  unique (company_id, digest)
);
create index refused_sales_open on ops.refused_sales (company_id, id) where settled_at is null;
create index refused_sales_settled on ops.refused_sales (company_id, settled_at) where settled_at is not null;
