import { hash, webcrypto } from 'node:crypto'
import { expect } from 'chai'
import { canonicalJson } from '#ledger/command.ts'
import type { TestTill } from './till.ts'

const { subtle } = webcrypto
const CURVE = { name: 'ECDSA', namedCurve: 'P-256' }

/** A till that numbers and signs what it records, as a client of the interface does. */
export interface ChainedTill {
  readonly id: number
  /** The next element of the chain. */
  next<T extends object>(element: T): Promise<T & Chained>
  /** An element with a place of its own. */
  place<T extends object>(element: T, number: number, previous: string): Promise<T & Chained>
  sign(bytes: Uint8Array): Promise<Uint8Array>
}

export interface Chained {
  readonly till: { readonly id: number; readonly number: number; readonly previous: string; readonly signature: string }
}

export const GENESIS = '0'.repeat(64)

/** SHA-256 of an element in RFC 8785 form with its signature. */
export const hashOfElement = (element: unknown): string => hash('sha256', canonicalJson(element), 'hex')

export async function newTillKey() {
  const pair = (await subtle.generateKey(CURVE, false, ['sign', 'verify'])) as webcrypto.CryptoKeyPair
  const { kty, crv, x, y } = await subtle.exportKey('jwk', pair.publicKey)
  return { pair, public_key: { kty, crv, x, y } }
}

/** Registers a till with a key of its own. */
export async function chainTill(till: TestTill, name = 'Balcão'): Promise<ChainedTill> {
  const { pair, public_key } = await newTillKey()
  const reply = await till.post('/sync/tills', { name, public_key })
  expect(reply.status, reply.text).to.equal(200)
  return chainOf(reply.body.id, pair.privateKey)
}

export function chainOf(id: number, key: webcrypto.CryptoKey): ChainedTill {
  let [number, previous] = [0, GENESIS]
  const sign = async (bytes: Uint8Array) => {
    return new Uint8Array(await subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key, bytes as BufferSource))
  }
  const place: ChainedTill['place'] = async (element, at, before) => {
    const unsigned = { ...element, till: { id, number: at, previous: before } }
    const signature = Buffer.from(await sign(Buffer.from(canonicalJson(unsigned)))).toString('base64url')
    return { ...unsigned, till: { ...unsigned.till, signature } }
  }
  return {
    id,
    sign,
    place,
    async next(element) {
      const placed = await place(element, ++number, previous)
      previous = hashOfElement(placed)
      return placed
    },
  }
}
