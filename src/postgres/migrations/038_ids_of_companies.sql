-- Each company counts its records by itself (LEDGER-9): the highest ids that it has given out, by kind, as in {"sale": 12}.
alter table ops.ledgers add column ids json not null default '{}';

-- Companies of before go on from their largest ids; where the ledgers are not here, from the largest of all companies.
with given as (
  select stream, split_part(subject, '/', 1) as kind, max(split_part(subject, '/', 2)::bigint) as id
  from ledger.events where subject ~ '^[a-z_]+/[0-9]+$' and subject !~ '^company/' group by 1, 2
), counted as (
  select stream, json_object_agg(kind, id) as ids from given group by stream
), of_all as (
  select coalesce(json_object_agg(left(sequencename, -4), last_value), '{}') as ids from pg_sequences
  where schemaname = 'ops' and last_value is not null and left(sequencename, -4) in (
    'user', 'api_key', 'payment_type', 'customer', 'supplier', 'category', 'catalog_item', 'sale', 'receivable', 'payable', 'webhook', 'store', 'order')
)
update ops.ledgers l set ids = coalesce((select ids from counted where stream = 'company-' || l.company_id), of_all.ids)
from of_all where l.revision >= 0;

drop sequence ops.user_ids, ops.api_key_ids, ops.payment_type_ids, ops.customer_ids, ops.supplier_ids, ops.category_ids, ops.catalog_item_ids,
  ops.sale_ids, ops.receivable_ids, ops.payable_ids, ops.webhook_ids, ops.store_ids, ops.order_ids;

-- What was found by an id alone is found by company and id.
alter table ops.api_key_uses add column company_id bigint;
update ops.api_key_uses u set company_id = s.company_id from ops.api_key_secrets s where s.api_key_id = u.api_key_id;
delete from ops.api_key_uses where company_id is null;
alter table ops.api_key_uses drop constraint api_key_uses_pkey, add primary key (company_id, api_key_id);

alter table ops.store_secrets drop constraint store_secrets_pkey, add primary key (company_id, store_id);
drop index ops.store_secrets_by_company, ops.store_secrets_by_master_key;
create index store_secrets_by_master_key on ops.store_secrets (master_key_id, company_id, store_id);

drop index ops.sessions_by_user, ops.sync_tokens_by_user;
create index sessions_by_user on ops.sessions (company_id, user_id) where revoked_at is null;
create index sync_tokens_by_user on ops.sync_tokens (company_id, user_id) where revoked_at is null;

drop index ops.webhook_deliveries_due;
create index webhook_deliveries_due on ops.webhook_deliveries (company_id, webhook_id, next_attempt_at) where status = 'pending';
