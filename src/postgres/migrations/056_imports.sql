-- The file that somebody is about to import, the latest of each person: until it is imported, or for an hour.
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
