/** What the chain adds to each element that is recorded. */
export interface TillLink {
  readonly id: number
  readonly number: number
  readonly previous: string
  readonly signature: string
}

export const NO_PREDECESSOR = '0'.repeat(64)

type Json = null | boolean | number | string | readonly Json[] | { readonly [member: string]: Json | undefined }

/** RFC 8785 form: members by UTF-16 code units; numbers and texts as ECMAScript writes them. */
export function canonical(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map((each) => canonical(each)).join(',')}]`
  const object = value as { readonly [member: string]: Json | undefined }
  const members = Object.keys(object).filter((name) => object[name] !== undefined)
  return `{${members
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonical(object[name] as Json)}`)
    .join(',')}}`
}

const utf8 = (text: string) => new TextEncoder().encode(text)

export const toHex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

export const fromHex = (hex: string): Uint8Array =>
  Uint8Array.from({ length: hex.length / 2 }, (_, at) => Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16))

export function toBase64Url(bytes: Uint8Array): string {
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

const SIGNING = { name: 'ECDSA', hash: 'SHA-256' }

/** Key of a till. The private one never leaves the browser. */
export const createTillKey = (): Promise<CryptoKeyPair> =>
  crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign', 'verify'])

/** The public key as the service takes it. */
export async function publicJwk({ publicKey }: CryptoKeyPair): Promise<object> {
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey)
  return { kty, crv, x, y }
}

/** Signature of bytes in IEEE P1363 form. */
export const signBytes = async (key: CryptoKeyPair, bytes: Uint8Array): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.sign(SIGNING, key.privateKey, bytes as Uint8Array<ArrayBuffer>))

/** An element with its link, and the hash that the next one names. */
export interface Linked<T> {
  readonly element: T & { readonly till: TillLink }
  readonly hash: string
}

/** Links an element to the one before. */
export async function linkElement<T extends object>(
  key: CryptoKeyPair,
  element: T,
  { id, number, previous }: Omit<TillLink, 'signature'>,
): Promise<Linked<T>> {
  const unsigned = { ...element, till: { id, number, previous } }
  const signature = toBase64Url(await signBytes(key, utf8(canonical(unsigned as unknown as Json))))
  const signed = { ...element, till: { id, number, previous, signature } }
  const digest = await crypto.subtle.digest('SHA-256', utf8(canonical(signed as unknown as Json)))
  return { element: signed, hash: toHex(new Uint8Array(digest)) }
}
