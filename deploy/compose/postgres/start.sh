#!/bin/sh
# Starts Patroni; with arguments runs patronictl. What differs between members comes from PATRONI_SCOPE and PATRONI_NAME, passwords from files.
set -eu
secret() { cat "/run/secrets/postgres_$1_password"; }
PATRONI_SUPERUSER_PASSWORD="$(secret superuser)"
PATRONI_REPLICATION_PASSWORD="$(secret replication)"
export PATRONI_SUPERUSER_PASSWORD PATRONI_REPLICATION_PASSWORD
# The name stands for the address on the network consensus: the REST interface listens nowhere else.
export PATRONI_RESTAPI_LISTEN="$PATRONI_NAME.consensus:8008"
export PATRONI_RESTAPI_CONNECT_ADDRESS="$PATRONI_RESTAPI_LISTEN"
export PATRONI_POSTGRESQL_CONNECT_ADDRESS="$PATRONI_NAME:5432"
[ $# -eq 0 ] || exec /opt/patroni/bin/patronictl -c /etc/patroni.yml "$@"
exec /opt/patroni/bin/patroni /etc/patroni.yml
