-- An event may be told in two ways, as a deactivated item: changed, and deleted.
alter table ops.webhook_messages drop constraint webhook_messages_company_id_revision_key;
create unique index webhook_messages_by_revision on ops.webhook_messages (company_id, revision, event);
