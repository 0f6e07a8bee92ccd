-- In which home each company lives, and by what companies are found without their id. Kept in the home `main` alone and empty where
-- there is no other one (decision 63).
create table ops.homes (
  name text primary key check (name ~ '^[a-z][a-z0-9-]{0,30}$'),
  added_at timestamptz not null default clock_timestamp(),
  -- Takes no new companies: those it has are to leave.
  draining boolean not null default false
);

create table ops.company_homes (
  company_id bigint primary key,
  home text not null references ops.homes,
  since timestamptz not null default clock_timestamp()
);
create index company_homes_by_home on ops.company_homes (home, company_id);

create table ops.directory_entries (
  kind text not null check (kind in ('api_key', 'session', 'sync_token', 'invitation', 'store_alias', 'email')),
  -- SHA-256 of a key or token; the alias or address itself.
  key bytea not null,
  company_id bigint not null,
  -- SHA-256 of whose session or token it is (src/access/login-limits.ts): they end together, wherever they are.
  account bytea,
  -- When it was last reserved.
  created_at timestamptz not null default clock_timestamp(),
  primary key (kind, key, company_id)
);
-- A person may be a user of several companies; everything else has one.
create unique index directory_entries_of_one on ops.directory_entries (kind, key) where kind <> 'email';
create index directory_entries_by_company on ops.directory_entries (company_id);
create index directory_entries_by_account on ops.directory_entries (account) where account is not null;

-- Which home this database is: URLs that were exchanged are noticed.
alter table ops.installation add column name text not null default 'main';

-- A person's password is decided in `main`, and other homes have copies: whatever is written late of an earlier one comes to nothing.
create function ops.skip_change() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  return null;
end $$;
create trigger newest_password before update on ops.persons for each row when (new.generation < old.generation)
  execute function ops.skip_change();
