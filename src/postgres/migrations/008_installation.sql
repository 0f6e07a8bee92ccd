-- The installation and its companies.

create table ops.installation (
  only_row boolean primary key default true check (only_row),
  id uuid not null,
  event_store text,
  identity text,
  is_copy boolean not null default false,
  restoring jsonb,
  family uuid,
  cell integer not null default 0
);
comment on table ops.installation is 'Identity of this installation, by which restored and copied databases are detected.';
comment on column ops.installation.event_store is 'Hosts of the EventStoreDB with the ledgers; null if they are in this Postgres or not known yet.';
comment on column ops.installation.identity is 'Server, timeline and database as Postgres identifies them; null if not known yet.';
comment on column ops.installation.is_copy is 'A copy for trials: it sends nothing.';
comment on column ops.installation.restoring is 'Restore that is being recorded.';
comment on column ops.installation.family is 'Id of the first cell; null in that one.';
comment on column ops.installation.cell is 'Number of the cell; its company ids begin at cell × 1,000,000,000.';
insert into ops.installation (id) values (gen_random_uuid());

create sequence ops.company_ids;

-- Numbers of further cells, given out by the first one.
create sequence ops.cell_numbers;

create table ops.company_moves (
  id uuid primary key,
  company_id bigint not null,
  revision bigint not null,
  hash text not null,
  state text not null check (state in ('exported', 'reopened', 'confirmed', 'removed', 'returned', 'arrived')),
  at timestamptz not null default now(),
  reason text,
  note text
);
comment on table ops.company_moves is 'Companies that moved between installations: exported, reopened, confirmed, removed, returned, arrived.';
comment on column ops.company_moves.hash is 'Hash of the last event at the export.';
comment on column ops.company_moves.id is 'Id of the export, known to both installations.';
comment on column ops.company_moves.revision is 'The last event then.';
comment on column ops.company_moves.reason is 'Why it was reopened.';
comment on column ops.company_moves.note is 'Signed note of the import.';
create unique index company_moves_under_way on ops.company_moves (company_id) where state in ('exported', 'confirmed', 'removed');

-- Rows that are written beside the ledger, by requests.
create trigger closed before insert or update of revoked_at on ops.sessions for each row execute function ops.refuse_closed();
create trigger closed before insert or update of revoked_at, replaced_at on ops.sync_tokens for each row execute function ops.refuse_closed();
create trigger closed before insert or update on ops.refused_sales for each row execute function ops.refuse_closed();
create trigger closed before insert on ops.payment_notifications for each row execute function ops.refuse_closed();
create trigger closed before insert on ops.downloads for each row execute function ops.refuse_closed();
create trigger closed before insert on ops.imports for each row execute function ops.refuse_closed();
create trigger closed before insert on ops.ledger_checkpoints for each row execute function ops.refuse_closed();

create table ops.demo_companies (
  place integer primary key,
  company_id bigint not null unique,
  seeded_at timestamptz,
  sold_until timestamptz
);
comment on table ops.demo_companies is 'Demonstration companies, in the order of demo.json.';
comment on column ops.demo_companies.seeded_at is 'Null until all records are there; the next start completes them.';
comment on column ops.demo_companies.sold_until is 'Tills have uploaded up to this time; null before the first month.';
