-- What a hand-written service needs for the same sale: the same rows, indexed for the same lists, without a working set.
create schema floor;
set search_path = floor;

create table companies (
  id bigint primary key,
  name text not null,
  plan text not null,
  timezone text not null
);

create table api_keys (
  id bigint generated always as identity primary key,
  company_id bigint not null references companies,
  hash bytea not null unique,
  scopes text[] not null,
  expires_at timestamptz,
  revoked_at timestamptz
);

create table quotas (
  company_id bigint primary key,
  minute_ends_at timestamptz not null,
  minute_count integer not null,
  day_ends_at timestamptz not null,
  day_count integer not null
) with (fillfactor = 30);

create table ledgers (
  company_id bigint primary key,
  revision bigint not null default -1,
  hash text not null default repeat('0', 64),
  last_recorded_at timestamptz not null default '1970-01-01T00:00:00Z'
) with (fillfactor = 50);

create table events (
  stream text not null,
  revision bigint not null,
  id uuid not null,
  type text not null,
  subject text not null,
  recorded_at timestamptz not null,
  envelope json not null,
  primary key (stream, revision)
);
create index on events (stream, subject, revision);

create table idempotent_answers (
  company_id bigint not null,
  key text not null,
  request_hash text not null,
  status integer not null,
  body text not null,
  created_at timestamptz not null,
  primary key (company_id, key)
);
create index on idempotent_answers (created_at);

create table payment_types (
  company_id bigint not null,
  id bigint not null,
  name text not null,
  kind text not null,
  fee_percentage numeric(5, 2) not null,
  accepts_api boolean not null,
  primary key (company_id, id)
);

create table customers (
  company_id bigint not null,
  id bigint not null,
  external_id text,
  name text not null,
  deleted_at timestamptz,
  primary key (company_id, id),
  unique (company_id, external_id)
);

create table catalog_items (
  company_id bigint not null,
  id bigint not null,
  external_id text,
  name text not null,
  price numeric(12, 2) not null,
  stock numeric(13, 3),
  stock_updated_at timestamptz,
  deleted_at timestamptz,
  revision bigint not null,
  changed_at timestamptz not null,
  primary key (company_id, id),
  unique (company_id, external_id)
);
create index on catalog_items (company_id, changed_at, revision, id);

create table stock_movements (
  company_id bigint not null,
  id bigint not null,
  catalog_item_id bigint not null,
  kind text not null,
  quantity numeric(13, 3) not null,
  balance numeric(13, 3),
  revision bigint not null,
  changed_at timestamptz not null,
  primary key (company_id, id)
);
create index on stock_movements (company_id, catalog_item_id, id);
create index on stock_movements (company_id, changed_at, revision, id);

create sequence sale_ids;

create table sales (
  company_id bigint not null,
  id bigint not null,
  external_id text,
  status text not null,
  customer_id bigint,
  sold_at timestamptz not null,
  total_cents bigint not null,
  revision bigint not null,
  changed_at timestamptz not null,
  doc json not null,
  primary key (company_id, id),
  constraint sales_external_key unique (company_id, external_id)
);
create index on sales (company_id, changed_at, revision, id);
create index on sales (company_id, sold_at);

-- What a batch upserts.
create table batch_customers (
  id bigint generated always as identity primary key,
  company_id bigint not null references companies,
  external_id text not null,
  name text not null,
  email text,
  phone text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (company_id, external_id)
);
