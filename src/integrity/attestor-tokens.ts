import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { writeFileAtomically } from '#lib/files.ts'
import type { Queryable } from '#postgres/database.ts'
import type { AttestationRequest, Attestor, TokenKind } from './attestors.ts'
import { formatCheckpoint } from './checkpoint.ts'
import { parseSignatureLine } from './note.ts'

/** Token of an attestor for a checkpoint of the installation log. */
export interface AttestationToken {
  /** Size of the checkpoint. */
  readonly size: number
  readonly source: string
  readonly kind: TokenKind
  readonly token: Buffer
  /** UTC. */
  readonly obtained_at: string
}

/** Directory of token files, beside the checkpoints. */
export const tokenDirectoryOf = (directory: string): string => join(directory, 'tokens')

const SIZE_DIGITS = 16
const NAME_CHARS = 80

/**
 * Stores a token: first as files for auditors' tools, then in the database. A cosignature's file is the whole note with
 * both signatures; a time stamp's is its DER, with the stamped text in a second file for `openssl ts -verify -data`.
 */
export async function keepToken(
  { pool, directory }: { readonly pool: Pool; readonly directory: string },
  { source, kind }: Pick<Attestor, 'source' | 'kind'>,
  checkpoint: AttestationRequest,
  token: Buffer,
): Promise<void> {
  const folder = tokenDirectoryOf(directory)
  const size = String(checkpoint.size).padStart(SIZE_DIGITS, '0')
  const path = join(folder, `${size}-${source.replace(/[^A-Za-z0-9.-]+/g, '_').slice(-NAME_CHARS)}`)
  if (kind !== 'copy') await mkdir(folder, { recursive: true })
  if (kind === 'cosignature') await writeFileAtomically(`${path}.cosigned`, `${checkpoint.note}${token}`)
  if (kind === 'time_stamp') {
    await writeFileAtomically(join(folder, `${size}.text`), formatCheckpoint(checkpoint))
    await writeFileAtomically(`${path}.tsr`, token)
  }
  await pool.query(
    `insert into ops.checkpoint_tokens (size, source, kind, token) values ($1, $2, $3, $4) on conflict do nothing`,
    [checkpoint.size, source, kind, token],
  )
}

/** All tokens of a checkpoint. */
export async function tokensOf(pool: Queryable, size: number): Promise<AttestationToken[]> {
  const { rows } = await pool.query<AttestationToken>(
    'select size, source, kind, token, obtained_at from ops.checkpoint_tokens where size = $1 order by source',
    [size],
  )
  return rows
}

/**
 * A checkpoint's note with all available cosignatures after the log's own signatures. They are not verified here;
 * clients verify the note.
 */
export async function cosigned(
  pool: Queryable,
  { size, note }: Pick<AttestationRequest, 'size' | 'note'>,
): Promise<string> {
  const { rows } = await pool.query<{ token: Buffer }>(
    `select token from ops.checkpoint_tokens where size = $1 and kind = 'cosignature' order by source`,
    [size],
  )
  const lines = rows.map(({ token }) => token.toString())
  return note + lines.filter((line) => line.endsWith('\n') && parseSignatureLine(line.slice(0, -1))).join('')
}
