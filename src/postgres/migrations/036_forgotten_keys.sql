-- Keys that have ended lately: what they sealed is looked for once more, and those of a restored backup are compared with them.
create index person_keys_by_end on ops.person_keys (destroyed_at) where destroyed_at is not null;
