-- Master keys by which secrets of this database are sealed: one, and while it is being changed its successor too.
create table ops.master_keys (
  -- The bytes after the first one of whatever it has sealed (src/lib/vault.ts).
  id bytea primary key,
  created_at timestamptz not null default clock_timestamp()
);

-- Columns that are sealed tell by which key. No row gets a key that is not known above, and none is forgotten there that a row needs.
alter table ops.person_keys add column master_key_id bytea
  generated always as (substring(wrapped from 2 for 8)) stored references ops.master_keys;
create index person_keys_by_master_key on ops.person_keys (master_key_id, key_id);

-- What was kept in clear waits here for the first start with a master key, which seals it (src/master-key/clear-secrets.ts).
create table ops.clear_secrets as
  select 'webhook_secrets' as table_name, jsonb_build_object('company_id', company_id, 'webhook_id', webhook_id, 'switch_at', switch_at) as columns,
    case when secret <> '' then jsonb_build_object('secret', secret, 'next_secret', next_secret) end as secrets
  from ops.webhook_secrets
  union all
  select 'store_secrets', jsonb_build_object('store_id', store_id, 'company_id', company_id, 'alias', alias),
    jsonb_build_object('access_token', access_token, 'notification_secret', notification_secret)
  from ops.store_secrets
  union all
  select 'installation_secrets', jsonb_build_object('name', name), to_jsonb(encode(secret, 'base64'))
  from ops.installation_secrets;

-- Tables are made anew, so that no page of theirs holds what was deleted.
drop table ops.webhook_secrets;
drop table ops.store_secrets;
drop table ops.installation_secrets;

-- Signing secrets. During the overlap of a rotation the first still signs and the next one signs beside it.
create table ops.webhook_secrets (
  company_id bigint not null,
  webhook_id bigint not null,
  -- {secret, next_secret}, sealed; null once the address is deleted.
  secrets bytea,
  switch_at timestamptz,
  master_key_id bytea generated always as (substring(secrets from 2 for 8)) stored references ops.master_keys,
  primary key (company_id, webhook_id)
);
create index webhook_secrets_by_master_key on ops.webhook_secrets (master_key_id, company_id, webhook_id);

create table ops.store_secrets (
  store_id bigint primary key,
  company_id bigint not null,
  -- Part of the address that the provider notifies, so unique in the whole service.
  alias text not null constraint store_secrets_alias_key unique,
  -- {access_token, notification_secret}, sealed: used to call the provider and to check its signatures.
  secrets bytea,
  master_key_id bytea generated always as (substring(secrets from 2 for 8)) stored references ops.master_keys
);
create index store_secrets_by_company on ops.store_secrets (company_id);
create index store_secrets_by_master_key on ops.store_secrets (master_key_id, store_id);

-- Secrets that are made once, with the database, and that all its processes share.
create table ops.installation_secrets (
  name text primary key,
  -- Base64 in JSON, sealed.
  secret bytea not null,
  master_key_id bytea generated always as (substring(secret from 2 for 8)) stored references ops.master_keys
);
create index installation_secrets_by_master_key on ops.installation_secrets (master_key_id, name);
