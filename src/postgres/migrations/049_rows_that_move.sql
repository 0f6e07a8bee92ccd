-- Rows of a company are found by company and id, also where another home has given out the same id (HOME-50).
alter table ops.refused_sales drop constraint refused_sales_pkey, add primary key (company_id, id);

alter table ops.downloads drop constraint downloads_pkey, add primary key (company_id, id);
drop index ops.downloads_by_company;

-- Those of before 023 that were nobody's are of company 0.
update ops.payment_notifications set company_id = 0 where company_id is null;
alter table ops.payment_notifications alter column company_id set not null,
  drop constraint payment_notifications_pkey, add primary key (company_id, id);

-- What a change of a row says of the row before, by which a publication knows whose it is: the company has to be in it. Those found
-- by a hash say all of it, which costs something only with wal_level = logical.
alter table ops.sessions replica identity full;
alter table ops.sync_tokens replica identity full;
alter table ops.person_keys replica identity using index person_keys_company_id_subject_part_key;

-- Written where a company leaves, and read where it arrives: whoever sees a mark there has all that was committed before it.
create table ops.move_marks (
  company_id bigint primary key,
  mark uuid not null
);
