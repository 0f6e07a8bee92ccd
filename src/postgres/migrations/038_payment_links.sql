-- What the links of buyers are made with (ORDER-30): 244 random bits.
insert into ops.installation_secrets (name, secret)
values ('payment_links', sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));
