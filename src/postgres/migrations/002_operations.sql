-- What cannot be derived from the ledgers: positions, answers, secrets, quotas.
create schema if not exists ops;

-- One row per company: what a unit of work locks, and how far the read model has come.
create table ops.ledgers (
  company_id bigint primary key,
  revision bigint not null default -1,
  -- Nothing at or below it ever makes a delivery again.
  reacted_revision bigint not null default -1,
  hash text not null,
  last_recorded_at timestamptz
) with (fillfactor = 50);

-- The version of the projections that the tables of schema read belong to.
create table ops.read_model (
  only_row boolean primary key default true check (only_row),
  version text not null
);

-- Answers of requests with an Idempotency-Key, kept 24 hours.
create table ops.idempotent_answers (
  company_id bigint not null,
  key text not null,
  request_hash text not null,
  status integer not null,
  body text not null,
  created_at timestamptz not null,
  primary key (company_id, key)
);
create index idempotent_answers_by_age on ops.idempotent_answers (created_at);

-- Hashes of API keys; what a key may do is in the read model.
create table ops.api_key_secrets (
  company_id bigint not null,
  api_key_id bigint not null,
  hash bytea not null unique,
  primary key (company_id, api_key_id)
);

-- Last use of a key, written by the quota statement without waiting for the disk.
create table ops.api_key_uses (
  api_key_id bigint primary key,
  last_used_at timestamptz not null
) with (fillfactor = 50);

-- E-mail addresses are unique in the whole service; password hashes are argon2id.
create table ops.user_credentials (
  user_id bigint primary key,
  company_id bigint not null,
  email text not null constraint user_credentials_email_key unique,
  password_hash text not null
);

-- Calls counted per company: a minute that begins with its first call, and the company's own day.
create table ops.quotas (
  company_id bigint primary key,
  minute_ends_at timestamptz not null,
  minute_count integer not null,
  day_ends_at timestamptz not null,
  day_count integer not null,
  -- How many of the calls of the last statement were let through.
  granted integer not null
) with (fillfactor = 30);

-- When the local day of a zone is over. A zone that this Postgres does not know must not stop everybody's calls: UTC then.
create function ops.end_of_day(p_at timestamptz, p_zone text) returns timestamptz language plpgsql stable as $$
begin
  return (date_trunc('day', p_at at time zone p_zone) + interval '1 day') at time zone p_zone;
exception when invalid_parameter_value then
  return (date_trunc('day', p_at at time zone 'UTC') + interval '1 day') at time zone 'UTC';
end $$;

-- The demonstration companies, in the order of demo.json.
create table ops.demo_companies (
  place integer primary key,
  company_id bigint not null unique,
  -- Null until all its records are there: what a crash interrupted, the next start finishes.
  seeded_at timestamptz
);

-- Ids are taken in blocks; see src/ledger/ids.ts.
create sequence ops.company_ids;
create sequence ops.user_ids;
create sequence ops.api_key_ids;
create sequence ops.payment_type_ids;
create sequence ops.customer_ids;
create sequence ops.category_ids;
create sequence ops.catalog_item_ids;
create sequence ops.sale_ids;
