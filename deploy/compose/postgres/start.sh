#!/bin/sh
# What differs between members comes from PATRONI_SCOPE and PATRONI_NAME, passwords from files.
set -eu
secret() { cat "/run/secrets/postgres_$1_password"; }
PATRONI_SUPERUSER_PASSWORD="$(secret superuser)"
PATRONI_REPLICATION_PASSWORD="$(secret replication)"
export PATRONI_SUPERUSER_PASSWORD PATRONI_REPLICATION_PASSWORD
export PATRONI_RESTAPI_CONNECT_ADDRESS="$PATRONI_NAME:8008"
export PATRONI_POSTGRESQL_CONNECT_ADDRESS="$PATRONI_NAME:5432"
exec /opt/patroni/bin/patroni /etc/patroni.yml
