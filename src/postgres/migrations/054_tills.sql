-- What a till says of itself (Till-Version), as of its last calls.
alter table ops.sync_tokens add column till_version text;

-- The logins of a company's people.
create index sync_tokens_of_company on ops.sync_tokens (company_id, user_id) where revoked_at is null;
