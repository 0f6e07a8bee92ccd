-- The installation and its companies.

-- Which installation this database is of, and where its ledgers are: a restored or copied database is told by it
-- (src/integrity/installation.ts).
create table ops.installation (
  only_row boolean primary key default true check (only_row),
  id uuid not null,
  -- Hosts of the EventStoreDB that keeps the ledgers; null: they are in this Postgres, or it is not known yet.
  event_store text,
  -- Server, timeline and database as Postgres identifies them; null if not known yet.
  identity text,
  -- A copy made on purpose: nothing goes out of it.
  is_copy boolean not null default false,
  -- A restore that is being recorded, until each ledger has its event.
  restoring jsonb,
  -- The first one of several installations that share keys (cells); null in that one. It names the ring of keys, and logs of companies.
  family uuid,
  -- Number of the cell: companies that begin here have the 1,000,000,000 ids after `cell` times as many.
  cell integer not null default 0
);
insert into ops.installation (id) values (gen_random_uuid());

create sequence ops.company_ids;

-- Numbers of further cells, given out by the first one.
create sequence ops.cell_numbers;

-- Companies that have moved between installations.
--   exported: closed here;  reopened: the export was taken back
--   confirmed: open elsewhere, and being removed here;  removed: not here any more;  returned: came back later
--   arrived: imported here
create table ops.company_moves (
  -- Of the export; both installations know it.
  id uuid primary key,
  company_id bigint not null,
  -- The last event then.
  revision bigint not null,
  hash text not null,
  state text not null check (state in ('exported', 'reopened', 'confirmed', 'removed', 'returned', 'arrived')),
  at timestamptz not null default now(),
  -- Why it was reopened.
  reason text,
  -- Signed note of the import.
  note text
);
create unique index company_moves_under_way on ops.company_moves (company_id) where state in ('exported', 'confirmed', 'removed');

-- Rows that are written beside the ledger, by requests.
create trigger closed before insert or update of revoked_at on ops.sessions for each row execute function ops.refuse_closed();
create trigger closed before insert or update of revoked_at, replaced_at on ops.sync_tokens for each row execute function ops.refuse_closed();
create trigger closed before insert or update on ops.refused_sales for each row execute function ops.refuse_closed();
create trigger closed before insert on ops.payment_notifications for each row execute function ops.refuse_closed();
create trigger closed before insert on ops.downloads for each row execute function ops.refuse_closed();
create trigger closed before insert on ops.imports for each row execute function ops.refuse_closed();
create trigger closed before insert on ops.ledger_checkpoints for each row execute function ops.refuse_closed();

-- The demonstration companies, in the order of demo.json.
create table ops.demo_companies (
  place integer primary key,
  company_id bigint not null unique,
  -- Null until all its records are there: the next start finishes what a crash interrupted.
  seeded_at timestamptz,
  -- Until when its tills have uploaded: nothing is added before, whatever has been changed since. Null before the first month.
  sold_until timestamptz
);
