-- The user's generation when the password was looked at (read.users): what ends all tokens and sessions of a user, as a new
-- password, is an event that begins another one. Those of the users so far are of the first.
alter table ops.sync_tokens add column generation integer not null default 0;
alter table ops.sessions add column generation integer not null default 0;
