-- Of the person when the link was sent: a later password ends it. Null in links of before, which live for an hour.
alter table ops.password_links add column generation integer;

-- Two passwords of a person are of two generations: of two at the same time, from two companies, one is decided again. In further homes
-- a copy of what `main` has decided takes the place of any other.
create function ops.refuse_second_password() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from ops.installation where name <> 'main') then
    return new;
  end if;
  raise exception 'another password of this generation is in force' using errcode = 'unique_violation';
end $$;
create trigger one_password_a_generation before update on ops.persons for each row
  when (new.generation = old.generation and new.password_hash <> old.password_hash) execute function ops.refuse_second_password();
