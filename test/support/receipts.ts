import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { appenderFrom, type Hashes, inclusionProof, leafHash } from '#integrity/merkle.ts'
import {
  companyOrigin,
  formatCheckpoint,
  hashPublicKey,
  type NoteSigner,
  proofText,
  signNote,
} from '#integrity/note.ts'
import type { ProvedEvent, Receipt } from '#integrity/sale-receipts.ts'
import { type Envelope, GENESIS_HASH, hashEnvelope } from '#ledger/command.ts'
import { projectRoot } from '#lib/files.ts'
import type { TrustedKeys } from '#public/receipt-page.tsx'

type Verdict =
  | { readonly outcome: 'proved'; readonly receipt: Receipt; readonly head: { readonly size: number } }
  | { readonly outcome: 'unknown_key'; readonly keyId: string }
  | { readonly outcome: 'unchecked' }
  | { readonly outcome: 'false'; readonly fault: string }

/** Verification code of browsers. */
interface Verification {
  readonly verifyReceipt: (text: string, trusted: TrustedKeys) => Promise<Verdict>
  readonly readGiven: (given: string) => Promise<string>
  readonly canonicalJson: (value: unknown) => string
}

/** The browser's code, in Node. */
export const loadVerification = (): Promise<Verification> =>
  import(pathToFileURL(join(projectRoot(), 'src/public/receipt/static/verify.js')).href)

export const INSTALLATION = '0198c1f2-7e1a-7c3e-8a55-6f1f3d9f0b11'

export const newKey = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  return { privateKey, publicKey: spki.toString('base64') }
}

export const trustedOf = (...keys: readonly { readonly publicKey: string }[]): TrustedKeys => ({
  installation: INSTALLATION,
  keys: keys.map(({ publicKey }) => ({
    key: Buffer.from(publicKey, 'base64').subarray(-32).toString('base64'),
    id: hashPublicKey(publicKey),
    since: '2026-11-21T11:17:15.123Z',
    until: null,
    isSigned: true,
  })),
})

type Said = Pick<Envelope, 'type' | 'subject' | 'data'>

/** In-memory ledger that proves events for API keys. */
export function ledgerOf(companyId: number, said: readonly Said[]) {
  const events: Envelope[] = []
  const nodes = new Map<string, Buffer>()
  const appender = appenderFrom()
  for (const [revision, each] of said.entries()) {
    const event: Omit<Envelope, 'hash'> = {
      id: `019aa5c2-6c1e-7c2f-9d11-${String(revision).padStart(12, '0')}`,
      version: 1,
      stream: `company-${companyId}`,
      revision,
      recorded_at: '2026-11-21T11:17:15.123Z',
      origin: 'api',
      actor: 'api_key/4',
      request_id: '019aa5c2-6c1d-7a31-8a55-0f2f2b7c9d10',
      idempotency: null,
      previous_hash: events.at(-1)?.hash ?? GENESIS_HASH,
      ...each,
    }
    const hash = hashEnvelope(event)
    events.push({ ...event, hash })
    for (const node of appender.append(leafHash(Buffer.from(hash, 'hex'))))
      nodes.set(`${node.level}/${node.index}`, node.hash)
  }
  const hashes: Hashes = { hash: (level, index) => nodes.get(`${level}/${index}`) as Buffer }
  const head = { size: appender.size, root: appender.root() }
  /** Proves all events, for a key. */
  const prove = (
    revision: number,
    { privateKey }: Pick<NoteSigner, 'privateKey'>,
    origin = companyOrigin(INSTALLATION, companyId),
  ): ProvedEvent => {
    const checkpoint = signNote(formatCheckpoint({ origin, ...head }), [{ name: origin, privateKey }])
    const proof = proofText({ index: revision, hashes: inclusionProof(hashes, revision, head.size), checkpoint })
    return { event: events[revision] as Envelope, proof }
  }
  return { events, prove }
}

export const saleData = (id: number, description = 'Café torrado 500 g') => ({
  id,
  external_id: `PED-${id}`,
  customer: { id: 17, external_id: 'CLI-001', name: { sealed: 'AX3q'.repeat(20) } },
  sold_at: '2026-11-21T11:17:15.000Z',
  items: [
    {
      catalog_item_id: 7,
      external_id: 'SKU-7',
      description,
      quantity: '2.000',
      unit_price: '20.65',
      total: '41.30',
      moves_stock: true,
    },
  ],
  payments: [{ payment_type_id: 1, name: 'Dinheiro', amount: '50.00', surcharge: '0.00', net: '41.30' }],
  subtotal: '41.30',
  delivery_fee: '0.00',
  total: '41.30',
  change: '8.70',
})
