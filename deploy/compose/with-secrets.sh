#!/bin/sh
# Settings of the service from files of secrets; then whatever was asked for.
set -eu
: "${SECRETS:=/run/secrets}"

urls_of() { # role, password
  main="postgres://$1:$2@$MAIN_HOSTS/tillbook?target_session_attrs=read-write"
  south="south=postgres://$1:$2@$SOUTH_HOSTS/tillbook?target_session_attrs=read-write"
}

urls_of tillbook_service "$(cat "$SECRETS/postgres_service_password")"
export DATABASE_URL="$main" SHARDS="$south"
if [ -r "$SECRETS/postgres_owner_password" ]; then
  urls_of tillbook_owner "$(cat "$SECRETS/postgres_owner_password")"
  export DATABASE_OWNER_URL="$main" SHARDS_OWNER_URLS="$south"
fi
MASTER_KEY="$(cat "$SECRETS/master_key")"
export MASTER_KEY
if [ -r "$SECRETS/metrics_token" ]; then
  METRICS_TOKEN="$(cat "$SECRETS/metrics_token")"
  export METRICS_TOKEN
fi
exec "$@"
