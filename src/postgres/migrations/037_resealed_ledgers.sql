-- Ledgers that 0.1 has written, with data about people in clear, until `tillbook ledger reseal` has written them anew.
create table ops.clear_ledgers (
  company_id bigint primary key
);
insert into ops.clear_ledgers select company_id from ops.ledgers;

-- Ledgers that were written anew: where, and under which hashes, the one before ended and the one since goes on.
create table ops.resealed_ledgers (
  company_id bigint primary key,
  revision bigint not null,
  old_hash text not null,
  new_hash text not null,
  resealed_at timestamptz not null
);
