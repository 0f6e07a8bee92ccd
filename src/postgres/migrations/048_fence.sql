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

-- Who e-mails a notice has it until then; a time to try again, which alone would tell, may be days away.
alter table ops.notices add column claimed_until timestamptz;
