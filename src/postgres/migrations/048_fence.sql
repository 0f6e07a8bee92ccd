-- A company that moves to another home, or has come from one (HOME-40); null for one that lives here and stays. Read by whoever locks its ledger.
--   paused: nothing that runs by itself begins anything of it; writes go on
--   leaving: no writes either; reads go on
--   left: it lives elsewhere, and these rows are old
--   arriving: it lives elsewhere, and these rows are being made
alter table ops.ledgers add column move text check (move in ('paused', 'leaving', 'left', 'arriving'));
-- What runs by itself asks for them in every statement that finds work.
create index ledgers_in_move on ops.ledgers (company_id) where move is not null;

-- How far a move has come, in both homes.
create table ops.moves (
  company_id bigint primary key,
  direction text not null check (direction in ('out', 'in')),
  other_home text not null,
  phase text not null default 'copying',
  since timestamptz not null default clock_timestamp()
);

-- Who has taken a notice to e-mail it, or an order to ask the provider about it, has it until then at the latest. The times at which they are
-- due again do not tell: they may also be those of another try.
alter table ops.notices add column claimed_until timestamptz;
alter table ops.payment_sweeps add column claimed_until timestamptz;
