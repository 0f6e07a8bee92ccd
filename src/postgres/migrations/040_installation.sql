-- Which installation this database is of, and where its ledgers live: a database that was restored or copied is told by it (src/proof/installation.ts).
create table ops.installation (
  only_row boolean primary key default true check (only_row),
  id uuid not null,
  -- Hosts of the EventStoreDB that keeps the ledgers; null: they are in this Postgres, or it is not known yet.
  event_store text,
  -- The server and database that this is, as Postgres itself tells them apart; null: not known yet.
  home text,
  -- A copy made on purpose: nothing goes out of it.
  is_copy boolean not null default false,
  -- A restore that is being recorded, until each ledger has its event.
  restoring jsonb
);
insert into ops.installation (id) values (gen_random_uuid());
