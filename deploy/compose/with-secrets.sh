#!/bin/sh
# Settings of the service from files of secrets; then whatever was asked for.
set -eu
: "${SECRETS:=/run/secrets}"

url_of() { # role, password
  echo "postgres://$1:$2@$POSTGRES_HOSTS/tillbook?target_session_attrs=read-write"
}

DATABASE_URL="$(url_of tillbook_service "$(cat "$SECRETS/postgres_service_password")")"
export DATABASE_URL
if [ -r "$SECRETS/postgres_owner_password" ]; then
  DATABASE_OWNER_URL="$(url_of tillbook_owner "$(cat "$SECRETS/postgres_owner_password")")"
  export DATABASE_OWNER_URL
fi
MASTER_KEY="$(cat "$SECRETS/master_key")"
export MASTER_KEY
if [ -r "$SECRETS/metrics_token" ]; then
  METRICS_TOKEN="$(cat "$SECRETS/metrics_token")"
  export METRICS_TOKEN
fi
exec "$@"
