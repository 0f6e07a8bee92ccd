#!/bin/sh
# Called by Patroni once in the life of a cluster, with the address of the new server: both roles and the database
# (docs/operations/install.md, "Two roles of Postgres").
set -eu
secret() { cat "/run/secrets/postgres_$1_password"; }
psql --no-psqlrc --set=ON_ERROR_STOP=1 --set=owner="$(secret owner)" --set=service="$(secret service)" "$1" <<'SQL'
create role tillbook_owner login password :'owner';
create role tillbook_service login password :'service';
grant tillbook_service to tillbook_owner;
create database tillbook owner tillbook_owner template template0 encoding 'UTF8';
SQL
