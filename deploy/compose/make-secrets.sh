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

# Certificates of etcd and of Patroni, each for both sides of a connection. The key of their authority is not kept: to renew them (after ten
# years), delete all five files, run this again and restart etcd and Postgres.
members=DNS:main-a.consensus,DNS:main-b.consensus
draft="$(mktemp -d)"
trap 'rm -rf "$draft"' EXIT
ec='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
signed() { # name, subjectAltName
  openssl req -new $ec -subj "/CN=$1" -keyout "secrets/$1_key" -out "$draft/request" 2> /dev/null
  printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth\n' "$2" > "$draft/extensions"
  openssl x509 -req -in "$draft/request" -days 3650 -CA "$draft/ca" -CAkey "$draft/ca_key" -set_serial "0x$(openssl rand -hex 15)" \
    -extfile "$draft/extensions" -out "secrets/$1_certificate" 2> /dev/null
  chmod 644 "secrets/$1_key" "secrets/$1_certificate"
}
if [ ! -s secrets/consensus_ca ]; then
  openssl req -x509 $ec -days 3650 -subj '/CN=tillbook consensus' -keyout "$draft/ca_key" -out "$draft/ca" 2> /dev/null
  signed etcd DNS:etcd-1,DNS:etcd-2,DNS:etcd-3
  signed patroni "$members"
  # Last, so that an interrupted run begins again.
  once consensus_ca cat "$draft/ca"
fi
