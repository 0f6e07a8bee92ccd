-- Who logs in: one row per e-mail address, whatever companies the person belongs to (read.users). Password hashes are argon2id.
create table ops.persons (
  id bigint generated always as identity,
  email text primary key,
  password_hash text not null,
  -- Tokens and sessions belong to the generation in which they were given out; those of an earlier one have ended.
  generation integer not null
);
insert into ops.persons (email, password_hash, generation)
  select email, password_hash, 0 from ops.user_credentials order by user_id;
drop table ops.user_credentials;

alter table ops.sync_tokens add column person_generation integer not null default 0;
alter table ops.sessions add column person_generation integer not null default 0;
