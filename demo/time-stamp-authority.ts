import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import express from 'express'
import { type Served, serveLocally } from './serve-locally.ts'

const run = promisify(execFile)

/** Local time-stamp authority (RFC 3161), based on OpenSSL; for trials only. */
export interface Authority {
  /** Certificate for clients to trust, PEM. */
  readonly caFile: string
  /**
   * Responds to a TimeStampReq with a TimeStampResp, both DER. An invalid request gets a rejection response, as in the
   * RFC.
   */
  reply(query: Buffer): Promise<Buffer>
}

interface AuthorityOptions {
  /** Folder of keys, certificates and the last serial number; created on first use. */
  readonly folder: string
  /** Type of both keys. */
  readonly keys?: 'ec' | 'rsa'
}

const CONFIG = `
[req]
distinguished_name = dn
[dn]
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[stamps]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
subjectKeyIdentifier = hash
[tsa]
default_tsa = authority
[authority]
serial = ./serial
signer_cert = ./authority.pem
signer_key = ./authority.key
certs = ./ca.pem
signer_digest = sha256
digests = sha256, sha384, sha512
default_policy = 1.2.3.4.1
accuracy = secs:1
ess_cert_id_alg = sha256
`

const DAYS = '3650'
const KEYS = {
  ec: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'],
  rsa: ['-newkey', 'rsa:2048'],
} as const

/** @throws if openssl is not installed. */
export async function openAuthority({ folder, keys = 'ec' }: AuthorityOptions): Promise<Authority> {
  const openssl = (...args: readonly string[]) => run('openssl', args, { cwd: folder })
  if (!existsSync(join(folder, 'authority.pem'))) await makeAuthority(folder, openssl, KEYS[keys])
  /** Sequential: each stamp takes the next serial number. */
  let turn: Promise<unknown> = Promise.resolve()

  async function stamp(query: Buffer): Promise<Buffer> {
    const name = randomUUID()
    const files = { query: join(folder, `${name}.tsq`), reply: join(folder, `${name}.tsr`) }
    try {
      await writeFile(files.query, query)
      await openssl('ts', '-reply', '-config', 'openssl.cnf', '-queryfile', files.query, '-out', files.reply)
      return await readFile(files.reply)
    } finally {
      await Promise.all([rm(files.query, { force: true }), rm(files.reply, { force: true })])
    }
  }

  return {
    caFile: join(folder, 'ca.pem'),
    reply(query) {
      const replied = turn.then(() => stamp(query))
      turn = replied.catch(() => {})
      return replied
    },
  }
}

async function makeAuthority(
  folder: string,
  openssl: (...args: readonly string[]) => Promise<unknown>,
  newKey: readonly string[],
): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(join(folder, 'openssl.cnf'), CONFIG)
  await writeFile(join(folder, 'serial'), '01\n')
  const made = ['-config', 'openssl.cnf', '-nodes', '-days', DAYS]
  const ca = ['-subj', '/CN=Tillbook demonstration CA', '-keyout', 'ca.key', '-out', 'ca.pem', '-extensions', 'ca']
  await openssl('req', '-x509', ...newKey, ...made, ...ca)
  const own = ['-subj', '/CN=Tillbook demonstration time stamps', '-keyout', 'authority.key', '-out', 'authority.pem']
  await openssl(
    'req',
    '-x509',
    ...newKey,
    ...made,
    ...own,
    '-extensions',
    'stamps',
    '-CA',
    'ca.pem',
    '-CAkey',
    'ca.key',
  )
}

const MAX_BODY = '16kb'

/** `port` 0: any free one. */
export async function serveAuthority(authority: Authority, port: number): Promise<Served> {
  const app = express()
  app.disable('x-powered-by')
  app.post('/', express.raw({ type: 'application/timestamp-query', limit: MAX_BODY }), async (request, response) => {
    if (!Buffer.isBuffer(request.body)) return void response.status(415).end()
    response.type('application/timestamp-reply').end(await authority.reply(request.body))
  })
  return serveLocally(app, port)
}
