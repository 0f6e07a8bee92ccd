-- Schema `ledger` has what happened. Schema `ops` has what cannot be derived from it: positions, answers, secrets, logs. Every
-- name is qualified, because migrations run with an empty search path.
create schema ledger;
-- The migration tool has made it for its own table.
create schema if not exists ops;

-- Tables that prove the past refuse changes from every role, their owner included. The trigger is of statements other than
-- INSERT, so that appends do not pay for it.
create function ops.refuse_change() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception using errcode = 'TB002',
    message = format('%I.%I is only added to: no %s', tg_table_schema, tg_table_name, tg_op);
end $$;

-- Makes a table append-only, or restores the trigger where it was disabled, and revokes privileges that would change rows.
create function ops.append_only(p_table regclass) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_role text;
begin
  if not exists (select from pg_trigger where tgrelid = p_table and tgname = 'append_only') then
    execute format('create trigger append_only before update or delete or truncate on %s
                    for each statement execute function ops.refuse_change()', p_table);
  end if;
  -- Also for sessions that replicate.
  execute format('alter table %s enable always trigger append_only', p_table);
  for v_role in
    select distinct quote_ident(r.rolname) from pg_class c, aclexplode(c.relacl) a join pg_roles r on r.oid = a.grantee
    where c.oid = p_table and a.grantee <> c.relowner
  loop
    execute format('revoke update, delete, truncate, trigger on %s from %s', p_table, v_role);
  end loop;
end $$;

-- Only the owner of a table may analyze it, and PostgreSQL before 17 has no privilege for that. It runs with its owner's power,
-- and can do nothing else.
create function ops.analyze_table(p_table regclass) returns void language plpgsql security definer
  set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (
    select from pg_class where oid = p_table and relkind in ('r', 'p') and relnamespace in ('ops'::regnamespace, 'ledger'::regnamespace)
  ) then
    raise exception '% is no table of the service', p_table;
  end if;
  execute format('analyze (skip_locked) %s', p_table);
end $$;

-- Splits a table that keeps rows of each event for ever, by hash of the company. Eight, because a table of Postgres ends at 32 TiB:
-- 256 TiB are some 20 years of 1,000,000 companies, each eighth is vacuumed and reindexed alone, and a statement that may need all of
-- them still has its locks in the fast path of PostgreSQL 15.
create function ops.partition_by_company(p_table regclass) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  c_partitions constant integer := 8;
begin
  for n in 0 .. c_partitions - 1 loop
    execute format('create table %s_%s partition of %s for values with (modulus %s, remainder %s)', p_table, n, p_table, c_partitions, n);
  end loop;
end $$;

create table ledger.events (
  stream text not null,
  revision bigint not null,
  id uuid not null,
  type text not null,
  subject text not null,
  recorded_at timestamptz not null,
  envelope json not null,
  primary key (stream, revision)
) partition by hash (stream);
comment on table ledger.events is 'Events of all ledgers, unless they are in an EventStoreDB. One stream per company; append-only; partitioned by hash of the stream.';
comment on column ledger.events.envelope is 'Whole event as it was hashed; the other columns repeat what queries search.';
create index events_by_subject on ledger.events (stream, subject, revision);
select ops.partition_by_company('ledger.events');
-- Each partition too: a statement can name it.
select ops.append_only(relid) from pg_catalog.pg_partition_tree('ledger.events');

-- Appends to several streams. Refuses (TB001) when a stream does not end at its expected revision. A single stream or event, the
-- most frequent case, has statements of its own: scalars let the plan open one partition only, where a set needs all.
create function ledger.append_events(
  p_streams text[], p_expected bigint[],
  p_stream text[], p_revision bigint[], p_id uuid[], p_type text[], p_subject text[], p_recorded_at timestamptz[], p_envelope json[]
) returns void language plpgsql as $$
declare
  v_wrong text;
begin
  if cardinality(p_streams) = 1 then
    if p_expected[1] <> coalesce(
      (select e.revision from ledger.events e where e.stream = p_streams[1] order by e.revision desc limit 1), -1)
    then
      v_wrong := p_streams[1];
    end if;
  else
    v_wrong := (
      select wanted.stream
      from unnest(p_streams, p_expected) as wanted(stream, revision)
      where wanted.revision <> coalesce(
        (select e.revision from ledger.events e where e.stream = wanted.stream order by e.revision desc limit 1), -1)
      limit 1);
  end if;
  if v_wrong is not null then
    raise exception using errcode = 'TB001', message = v_wrong;
  end if;
  if cardinality(p_id) = 1 then
    insert into ledger.events (stream, revision, id, type, subject, recorded_at, envelope)
      values (p_stream[1], p_revision[1], p_id[1], p_type[1], p_subject[1], p_recorded_at[1], p_envelope[1]);
  else
    insert into ledger.events (stream, revision, id, type, subject, recorded_at, envelope)
      select * from unnest(p_stream, p_revision, p_id, p_type, p_subject, p_recorded_at, p_envelope);
  end if;
end $$;

create table ops.ledgers (
  company_id bigint primary key,
  revision bigint not null default -1,
  reacted_revision bigint not null default -1,
  hash text not null,
  last_recorded_at timestamptz,
  ids json not null default '{}',
  missing_keys text check (missing_keys in ('pending', 'blank')),
  closed_at timestamptz
) with (fillfactor = 50);
comment on table ops.ledgers is 'One row per company: the position of its ledger. Each unit of work locks it.';
comment on column ops.ledgers.reacted_revision is 'Last revision whose reactions (deliveries, notifications) are queued.';
comment on column ops.ledgers.hash is 'Hash of the last event, hexadecimal SHA-256.';
comment on column ops.ledgers.ids is 'Highest id given out, by kind: {"sale": 12}.';
comment on column ops.ledgers.missing_keys is 'Read-only because keys of persons are missing: pending, events are not applied; blank, tables were rebuilt with empty fields.';
comment on column ops.ledgers.closed_at is 'Time of the export to another cell; null while the company is open here.';
-- Background work and the health check search for them.
create index ledgers_without_work on ops.ledgers (company_id) where missing_keys is not null or closed_at is not null;

-- Held shared by transactions that write rows of a company beside its ledger, exclusively by the one that closes the company.
create function ops.company_lock(p_company bigint) returns bigint language sql immutable as
$$ select hashtextextended('tillbook company ' || p_company, 0) $$;

-- For tables that are written without the lock of the ledger: what a closed company got would be lost.
create function ops.refuse_closed() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_advisory_xact_lock_shared(ops.company_lock(new.company_id));
  if exists (select from ops.ledgers where company_id = new.company_id and closed_at is not null and revision >= 0) then
    raise exception using errcode = 'TB003', message = format('company %s is exported to another installation', new.company_id);
  end if;
  return new;
end $$;

create table ops.subscription_checkpoints (
  name text primary key,
  position text not null
);
comment on table ops.subscription_checkpoints is 'Position of the catch-up subscription to an outside event store: all events up to it are applied.';

create table ops.idempotent_answers (
  company_id bigint not null,
  key text not null,
  request_hash text not null,
  outcome text not null,
  body text not null,
  meta text,
  created_at timestamptz not null,
  primary key (company_id, key)
);
comment on table ops.idempotent_answers is 'Stored answers of requests with an Idempotency-Key, kept 24 hours.';
comment on column ops.idempotent_answers.request_hash is 'Hash of method, path and body, keyed with a secret of the installation.';
comment on column ops.idempotent_answers.meta is 'JSON of warnings beside the record; null without any.';
create index idempotent_answers_by_age on ops.idempotent_answers (created_at);

create table ops.read_model (
  only_row boolean primary key default true check (only_row),
  version text not null,
  number integer not null,
  since timestamptz not null,
  served_at timestamptz
);
comment on table ops.read_model is 'Version of the tables in schema read.';
comment on column ops.read_model.number is 'Grows with each change of the tables; a program with a lower number is older than they are.';
comment on column ops.read_model.served_at is 'Time at which a process of this version began to serve.';

create table ops.table_checks (
  company_id bigint primary key,
  due_at timestamptz not null,
  whole_due_at timestamptz not null default clock_timestamp(),
  whole_at timestamptz,
  whole_revision bigint,
  checked_at timestamptz,
  revision bigint,
  differences json not null default '[]',
  is_equal boolean not null default true
);
comment on table ops.table_checks is 'Last comparison of the tables of each company with its ledger.';
comment on column ops.table_checks.due_at is 'Time of the next comparison; a process that takes it moves it first.';
comment on column ops.table_checks.whole_at is 'The last comparison with a replay of the whole ledger; null before the first.';
comment on column ops.table_checks.checked_at is 'Null until it was compared for the first time.';
comment on column ops.table_checks.differences is '[{table, key, found, fields}]; empty where all was equal.';
create index table_checks_due on ops.table_checks (due_at);
create index table_checks_unequal on ops.table_checks (company_id) where not is_equal;
