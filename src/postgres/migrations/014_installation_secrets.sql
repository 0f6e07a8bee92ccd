-- Secrets that are made once, with the database, and that all its processes share.
create table ops.installation_secrets (
  name text primary key,
  secret bytea not null
);

-- 244 random bits.
insert into ops.installation_secrets (name, secret)
values ('request_hashes', sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));
