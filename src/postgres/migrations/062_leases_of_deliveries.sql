-- While somebody sends a delivery. No index has it, so that taking one adds to none of them (HOT updates).
alter table ops.webhook_deliveries add column leased_until timestamptz;

-- Deliveries are asked for by their endpoint: one index does for two.
alter table ops.webhook_deliveries drop constraint webhook_deliveries_pkey, add primary key (company_id, webhook_id, id);
drop index ops.webhook_deliveries_by_address;
