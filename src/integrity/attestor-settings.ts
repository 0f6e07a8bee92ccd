import { readFileSync } from 'node:fs'
import type { Pool } from 'pg'
import { type Config, WrongSetting } from '#config/config.ts'
import {
  type Attestor,
  callAttestor,
  createCopyTarget,
  createFolderTarget,
  createWitness,
  type NamedAttestor,
  parseWitnesses,
  toAttestorFailure,
} from './attestors.ts'
import { installationLog } from './installation-log.ts'
import { formatCheckpoint } from './note.ts'
import { proveConsistency } from './prover.ts'
import { emptyTree, growTree, TreeDiffers } from './trees.ts'

interface AuthorityOptions {
  readonly url: string
  /** Trusted certificates in PEM; null accepts any certificate that the authority sends. */
  readonly trusted: string | null
  /** Random bytes that the response must repeat. */
  readonly newNonce: () => Buffer
  readonly timeout_ms?: number
}

/** Loaded on demand: the library is large, and few installations configure an authority. */
const tokens = () => import('./time-stamp-token.ts')

/**
 * Time-stamp authority (RFC 3161). It states that a checkpoint, and therefore everything it covers, existed at a time.
 * The stamp is of the checkpoint's text; `openssl ts -verify` reads its DER.
 */
export function createTimeStampAuthority({ url, trusted, newNonce, timeout_ms }: AuthorityOptions): Attestor {
  return {
    source: url,
    kind: 'time_stamp',
    takesEach: false,
    async ask(checkpoint, { signal }) {
      const text = formatCheckpoint(checkpoint)
      const nonce = newNonce()
      const headers = { 'content-type': 'application/timestamp-query', accept: 'application/timestamp-reply' }
      const { timeStampRequest, verifyStamp } = await tokens()
      const body = timeStampRequest(text, nonce)
      const answer = await callAttestor({ method: 'POST', url, headers, body, signal, timeout_ms })
      if (answer.status !== 200) throw toAttestorFailure(answer)
      await verifyStamp(answer.body, { text, nonce, trusted })
      return answer.body
    },
  }
}

export type AttestorSettings = Pick<
  Config,
  'WITNESS_URLS' | 'SEAL_TSA_URL' | 'SEAL_TSA_CA_FILE' | 'SEAL_PUSH_URL' | 'SEAL_PUSH_TOKEN' | 'SEAL_PUSH_FOLDER'
>

interface AttestorOptions {
  readonly pool: Pool
  /** Random bytes. */
  readonly newNonce: () => Buffer
}

/** Creates all configured attestors, in configured order. @throws WrongSetting */
export function createAttestors(config: AttestorSettings, { pool, newNonce }: AttestorOptions): Attestor[] {
  const { SEAL_TSA_URL, SEAL_PUSH_URL, SEAL_PUSH_TOKEN, SEAL_PUSH_FOLDER } = config
  const witnesses = parseWitnesses(config.WITNESS_URLS ?? [])
  if (!witnesses)
    throw new WrongSetting('WITNESS_URLS has a key that is none, whose id is not its own, or whose name is there twice')
  return [
    ...witnesses.map(({ url, key }) =>
      createWitness({ url, key, consistencyProof: (from, to) => consistencyOf(pool, from, to) }),
    ),
    ...(SEAL_TSA_URL === undefined
      ? []
      : [createTimeStampAuthority({ url: SEAL_TSA_URL, trusted: trustedOf(config), newNonce })]),
    ...(SEAL_PUSH_URL === undefined ? [] : [createCopyTarget({ url: SEAL_PUSH_URL, token: SEAL_PUSH_TOKEN })]),
    ...(SEAL_PUSH_FOLDER === undefined ? [] : [createFolderTarget(SEAL_PUSH_FOLDER)]),
  ]
}

/** Names of the configured attestors, without their connections. */
export function attestorNames(config: AttestorSettings): NamedAttestor[] {
  const { SEAL_TSA_URL, SEAL_PUSH_URL, SEAL_PUSH_FOLDER } = config
  const copies = [SEAL_PUSH_URL, SEAL_PUSH_FOLDER]
  const hostOf = (source: string) => (URL.canParse(source) ? new URL(source).host : null)
  return [
    ...(parseWitnesses(config.WITNESS_URLS ?? []) ?? []).map(({ key, url }) => ({
      source: key.name,
      kind: 'cosignature' as const,
      host: hostOf(url),
    })),
    ...(SEAL_TSA_URL === undefined
      ? []
      : [{ source: SEAL_TSA_URL, kind: 'time_stamp' as const, host: hostOf(SEAL_TSA_URL) }]),
    ...copies.flatMap((source) =>
      source === undefined ? [] : [{ source, kind: 'copy' as const, host: hostOf(source) }],
    ),
  ]
}

function trustedOf({ SEAL_TSA_CA_FILE: path }: AttestorSettings): string | null {
  if (path === undefined) return null
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new WrongSetting(`SEAL_TSA_CA_FILE should be a readable file: ${(error as Error).message}`)
  }
}

/** Stored tiles are a cache: if they cannot prove consistency, the tree is rebuilt from the entries. */
async function consistencyOf(pool: Pool, from: number, to: number): Promise<readonly Buffer[]> {
  const log = installationLog(pool)
  await growTree(pool, log)
  try {
    return (await proveConsistency(pool, log.id, from, to)).hashes
  } catch (error) {
    if (!(error instanceof TreeDiffers)) throw error
    await emptyTree(pool, log.id)
    await growTree(pool, log)
    return (await proveConsistency(pool, log.id, from, to)).hashes
  }
}
