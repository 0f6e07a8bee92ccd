-- The ledgers: what happened, in Postgres, when no event store outside of it is configured.
create schema ledger;

create table ledger.events (
  stream text not null,
  revision bigint not null,
  id uuid not null,
  type text not null,
  subject text not null,
  recorded_at timestamptz not null,
  -- The whole envelope as it was hashed; the columns before it repeat what queries look for.
  envelope json not null,
  primary key (stream, revision)
);

create index events_by_subject on ledger.events (stream, subject, revision);

-- Appends to several streams. Refuses (TB001) when a stream does not end at its expected revision.
create function ledger.append_events(
  p_streams text[], p_expected bigint[],
  p_stream text[], p_revision bigint[], p_id uuid[], p_type text[], p_subject text[], p_recorded_at timestamptz[], p_envelope json[]
) returns void language plpgsql as $$
declare
  v_wrong text;
begin
  select wanted.stream into v_wrong
    from unnest(p_streams, p_expected) as wanted(stream, revision)
    where wanted.revision <> coalesce(
      (select e.revision from ledger.events e where e.stream = wanted.stream order by e.revision desc limit 1), -1)
    limit 1;
  if found then
    raise exception using errcode = 'TB001', message = v_wrong;
  end if;
  insert into ledger.events (stream, revision, id, type, subject, recorded_at, envelope)
    select * from unnest(p_stream, p_revision, p_id, p_type, p_subject, p_recorded_at, p_envelope);
end $$;
