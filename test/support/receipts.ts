import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { projectRoot } from '#lib/project-root.ts'
import { type Envelope, GENESIS_HASH, hashOf } from '#ledger/envelope.ts'
import { originOf, proofText, textOf } from '#proof/checkpoint.ts'
import { type Hashes, inclusionProof, leafHash, rootOf } from '#proof/merkle.ts'
import { signNote } from '#proof/note.ts'
import type { Receipt } from '#proof/receipt.ts'
import type { Trusted } from '#receipt-page/document.tsx'

type Verdict =
  | { readonly outcome: 'proved'; readonly receipt: Receipt; readonly head: { readonly size: number } }
  | { readonly outcome: 'unknown_key'; readonly keyId: string }
  | { readonly outcome: 'unchecked' }
  | { readonly outcome: 'false'; readonly fault: string }

/** What browsers run, in Node. */
interface Verification {
  readonly verifyReceipt: (text: string, trusted: Trusted) => Promise<Verdict>
  readonly readGiven: (given: string) => Promise<string>
  readonly canonicalJson: (value: unknown) => string
}

export const verification: Verification = await import(
  pathToFileURL(join(projectRoot(), 'src/receipt-page/static/verify.js')).href
)
