-- What a store keeps secret, as it is: it is used to call the provider and to check its signatures.
create table ops.store_secrets (
  store_id bigint primary key,
  company_id bigint not null,
  -- Part of the address that the provider notifies, so unique in the whole service.
  alias text not null constraint store_secrets_alias_key unique,
  access_token text,
  notification_secret text
);
create index store_secrets_by_company on ops.store_secrets (company_id);

-- Ids are taken in blocks; see src/ledger/ids.ts.
create sequence ops.store_ids;
create sequence ops.order_ids;
