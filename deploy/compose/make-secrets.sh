#!/bin/sh
# Writes the files that compose.yml names as secrets, each once: what is there stays as it is.
set -eu
cd "$(dirname "$0")"
mkdir -p secrets
# Containers read them as users of their own; the folder is closed to others.
chmod 700 secrets
once() { # name, command…
  name="secrets/$1"
  shift
  [ -s "$name" ] || "$@" > "$name"
  chmod 644 "$name"
}
for password in superuser replication owner service; do
  once "postgres_${password}_password" openssl rand -hex 24
done
once master_key openssl rand -base64 32
once metrics_token openssl rand -hex 24
# For this machine; a real one is the certificate with its chain, and its key, in one file.
certificate() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 \
    -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout /dev/stdout 2> /dev/null
}
once proxy_certificate certificate
