-- Why a company takes no writes: what its ledger holds sealed cannot be opened, as after keys of persons were lost (LEDGER-51). Null: it does.
--   pending: events with such fields are not applied
--   blank: tables were made anew with such fields empty
alter table ops.ledgers add column missing_keys text check (missing_keys in ('pending', 'blank'));
-- Background work and the health check ask for them.
create index ledgers_with_missing_keys on ops.ledgers (company_id) where missing_keys is not null;

-- Resolved sales are deleted by their age, whatever their company does.
drop index ops.refused_sales_settled;
create index refused_sales_settled on ops.refused_sales (greatest(settled_at, last_refused_at)) where settled_at is not null;
