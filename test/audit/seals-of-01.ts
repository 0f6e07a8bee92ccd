import { sign } from 'node:crypto'
import type { Seal } from '#audit/seal.ts'
import type { SigningKey } from '#audit/signing-key.ts'
import type { Anchor } from '#audit/walk.ts'
import { canonicalJson, streamOf } from '#ledger/envelope.ts'

/** A seal as 0.1 made them. */
export function sealHead(companyId: number, { revision, hash }: Anchor, sealedAt: string, key: SigningKey): Seal {
  const head = {
    version: 1,
    company_id: companyId,
    stream: streamOf(companyId),
    revision,
    hash,
    sealed_at: sealedAt,
    key_id: key.keyId,
    public_key: key.publicKey,
  } as const
  return { ...head, signature: sign(null, Buffer.from(canonicalJson(head)), key.privateKey).toString('base64') }
}
