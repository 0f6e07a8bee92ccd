// Verification of a receipt by WebCrypto alone: nothing is fetched, nothing is sent. Formats: docs/proof.md.

/**
 * A stored event. Personal fields are sealed, or were never.
 * @typedef {{ type: string, version: number, stream: string, revision: number, recorded_at: string, subject: string, hash: string, data: any }} Event
 * @typedef {{ event: Event, proof: string }} Proved
 * @typedef {Proved & { version: 1, cancellation?: Proved }} Receipt
 */

/**
 * A key that the page trusts: its 32 bytes in base64, its id among people, from when on it signed and, if another one took its
 * place, until when (UTC); `isSigned`: every key since the first one was signed by the one before it.
 * @typedef {{ key: string, id: string, since: string, until: string | null, isSigned: boolean }} TrustedKey
 * @typedef {{ installation: string, keys: readonly TrustedKey[], shop?: { company: number, name: string } }} Trusted
 */

/**
 * The signed head of the log that an event is in.
 * @typedef {{ origin: string, size: number }} Head
 * @typedef {'unreadable' | 'event_changed' | 'not_in_log' | 'other_log' | 'wrong_signature' | 'no_sale' | 'other_sale'} Fault
 */

/**
 * `proved`: a trusted key has signed a log that holds the event. `unknown_key`: only keys have signed that are not trusted.
 * `unchecked`: this browser cannot verify signatures. `false`: it is not what it says.
 * @typedef {{ outcome: 'proved', receipt: Receipt, head: Head, key: TrustedKey }
 *   | { outcome: 'unknown_key', head: Head, keyId: string }
 *   | { outcome: 'unchecked', head: Head }
 *   | { outcome: 'false', fault: Fault }} Verdict
 */

/** Characters of a receipt's JSON: more than a sale of any size has. */
const LONGEST_RECEIPT = 4_000_000
/** Digits that the largest QR code has room for. */
const MOST_DIGITS = 7_089

/** What a customer owes, and what was paid of it. */
const ACCOUNTS = ['ReceivableCreated', 'ReceivablePaymentReceived']
const SALES = ['SaleCompleted', 'OfflineSaleCompleted', 'OfflineSaleCancelled']

const utf8 = new TextEncoder()

/**
 * @param {string} text the JSON of a receipt
 * @param {Trusted} trusted
 * @returns {Promise<Verdict>}
 */
export async function verifyReceipt(text, trusted) {
  const receipt = receiptOf(text)
  if (!receipt) return { outcome: 'false', fault: 'unreadable' }
  try {
    return await verifyParsed(receipt, trusted)
  } catch {
    // Malformed input, such as invalid base64 or lists nested too deeply.
    return { outcome: 'false', fault: 'unreadable' }
  }
}

/**
 * @param {Receipt} receipt
 * @param {Trusted} trusted
 * @returns {Promise<Verdict>}
 */
async function verifyParsed(receipt, trusted) {
  const { event, cancellation } = receipt
  const sale = await verifyEvent(receipt, trusted)
  if (sale.outcome !== 'proved') return sale
  if (![...SALES, ...ACCOUNTS].includes(event.type)) return { outcome: 'false', fault: 'no_sale' }
  if (cancellation) {
    const after = await verifyEvent(cancellation, trusted)
    if (after.outcome !== 'proved') return after
    const { type, subject, stream, revision } = cancellation.event
    const isOfSale = type === 'SaleCancelled' && subject === event.subject && stream === event.stream
    if (!isOfSale || revision < event.revision) return { outcome: 'false', fault: 'other_sale' }
  }
  return { outcome: 'proved', receipt, head: sale.head, key: sale.key }
}

/**
 * The JSON of a receipt in what a person gives: itself, or the digits of a QR code, alone or behind the `#` of an address.
 * @param {string} given
 * @returns {Promise<string>} the empty text where that is neither
 */
export async function readGiven(given) {
  const text = given.trim()
  if (text.startsWith('{')) return text.length > LONGEST_RECEIPT ? '' : text
  const digits = text.slice(text.lastIndexOf('#') + 1)
  if (!/^[1-9]\d*$/.test(digits) || digits.length > MOST_DIGITS) return ''
  const hex = BigInt(digits).toString(16)
  // The first digit keeps zeros at the beginning from being lost.
  return hex.startsWith('1') ? inflated(bytesOfHex(hex.slice(1))) : ''
}

/**
 * @param {Proved} proved
 * @param {Trusted} trusted
 * @returns {Promise<{ outcome: 'proved', head: Head, key: TrustedKey } | Exclude<Verdict, { outcome: 'proved' }>>}
 */
async function verifyEvent({ event, proof }, trusted) {
  const parsed = parseProof(proof)
  if (!parsed) return { outcome: 'false', fault: 'unreadable' }
  const { index, hashes, size, root, origin } = parsed
  const { hash, ...hashed } = event
  const digest = await sha256(utf8.encode(canonicalJson(hashed)))
  if (hexOf(digest) !== hash) return { outcome: 'false', fault: 'event_changed' }
  const leaf = await sha256(joined(Uint8Array.of(0), digest))
  const found = index === event.revision ? await rootOfInclusion(leaf, index, size, hashes) : null
  if (!found || base64Of(found) !== root) return { outcome: 'false', fault: 'not_in_log' }
  const [, installation, stream] = /^tillbook\/([^/]+)\/(company-[1-9]\d*)(?:\/[1-9]\d*)?$/.exec(origin) ?? []
  if (stream !== event.stream) return { outcome: 'false', fault: 'other_log' }
  return verifySignature(parsed, installation === trusted.installation ? trusted.keys : [])
}

/**
 * @param {Checkpoint} checkpoint
 * @param {readonly TrustedKey[]} keys
 * @returns {Promise<{ outcome: 'proved', head: Head, key: TrustedKey } | Exclude<Verdict, { outcome: 'proved' }>>}
 */
async function verifySignature({ text, origin, size, signatures }, keys) {
  const head = { origin, size }
  const signedBy = []
  for (const trusted of keys) {
    const key = bytesOfBase64(trusted.key)
    const keyId = hexOf(await sha256(joined(utf8.encode(`${origin}\n`), Uint8Array.of(1), key))).slice(0, 8)
    for (const { bytes } of signatures.filter((each) => each.keyId === keyId)) {
      const isRight = await isSignedBy(key, bytes, utf8.encode(text))
      if (isRight === null) return { outcome: 'unchecked', head }
      if (!isRight) return { outcome: 'false', fault: 'wrong_signature' }
      signedBy.push(trusted)
    }
  }
  const [key] = signedBy
  return key ? { outcome: 'proved', head, key } : { outcome: 'unknown_key', head, keyId: signatures[0]?.keyId ?? '' }
}

/**
 * @param {Uint8Array<ArrayBuffer>} key
 * @param {Uint8Array<ArrayBuffer>} signature
 * @param {Uint8Array<ArrayBuffer>} signed
 * @returns {Promise<boolean | null>} null where the browser does not know Ed25519
 */
async function isSignedBy(key, signature, signed) {
  const imported = await crypto.subtle.importKey('raw', key, 'Ed25519', false, ['verify']).catch(() => null)
  return imported && crypto.subtle.verify('Ed25519', imported, signature, signed)
}

/**
 * @param {string} text
 * @returns {Receipt | null}
 */
function receiptOf(text) {
  try {
    const receipt = JSON.parse(text)
    const isReceipt = receipt?.version === 1 && isProved(receipt)
    return isReceipt && (receipt.cancellation === undefined || isProved(receipt.cancellation)) ? receipt : null
  } catch {
    return null
  }
}

/** @param {any} value */
const isProved = (value) =>
  typeof value?.proof === 'string' && typeof value.event === 'object' && typeof value.event?.data === 'object'

/**
 * @typedef {{ keyId: string, bytes: Uint8Array<ArrayBuffer> }} Signature of the log's own name
 * @typedef {Head & { text: string, root: string, signatures: Signature[] }} Checkpoint `text` is what is signed
 */

/** A proof (c2sp.org/tlog-proof) whose checkpoint has three lines: origin, size, root. */
const PROOF =
  /^c2sp\.org\/tlog-proof@v1\n(?:extra [^\n]*\n)?index (0|[1-9]\d{0,15})\n((?:[A-Za-z0-9+/]{43}=\n){0,64})\n(([^\n]+)\n([1-9]\d{0,15})\n([A-Za-z0-9+/]{43}=)\n)\n((?:— [^\s+]+ [A-Za-z0-9+/]+={0,2}\n){1,100})$/u

const KEY_ID_BYTES = 4

/**
 * @param {string} proof
 * @returns {Checkpoint & { index: number, hashes: Uint8Array<ArrayBuffer>[] } | null}
 */
function parseProof(proof) {
  const [, index, hashes = '', text = '', origin = '', size, root = '', lines = ''] = PROOF.exec(proof) ?? []
  if (index === undefined || !Number.isSafeInteger(Number(size))) return null
  const signatures = linesOf(lines).flatMap((line) => {
    const [, name, base64 = ''] = line.split(' ')
    const bytes = bytesOfBase64(base64)
    return name === origin ? [{ keyId: hexOf(bytes.slice(0, KEY_ID_BYTES)), bytes: bytes.slice(KEY_ID_BYTES) }] : []
  })
  const path = linesOf(hashes).map(bytesOfBase64)
  return { index: Number(index), hashes: path, text, origin, size: Number(size), root, signatures }
}

/** @param {string} lines */
const linesOf = (lines) => lines.split('\n').slice(0, -1)

/**
 * The root that an inclusion proof leads to (RFC 6962, section 2.1); null when it has too few hashes, or too many.
 * @param {Uint8Array<ArrayBuffer>} leaf
 * @param {number} index
 * @param {number} size
 * @param {readonly Uint8Array<ArrayBuffer>[]} proof
 * @returns {Promise<Uint8Array<ArrayBuffer> | null>}
 */
async function rootOfInclusion(leaf, index, size, proof) {
  if (index >= size) return null
  const sibling = proof.at(-1)
  if (size === 1 || !sibling) return size === 1 && !sibling ? leaf : null
  let left = 1
  while (left * 2 < size) left *= 2
  const rest = proof.slice(0, -1)
  const isLeft = index < left
  const child = await rootOfInclusion(leaf, isLeft ? index : index - left, isLeft ? left : size - left, rest)
  return child && sha256(joined(Uint8Array.of(1), ...(isLeft ? [child, sibling] : [sibling, child])))
}

/**
 * RFC 8785.
 * @param {any} value
 * @returns {string}
 */
export function canonicalJson(value) {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`
  const names = Object.keys(value).sort()
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name])}`).join()}}`
}

/** @param {Uint8Array<ArrayBuffer>} bytes */
const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))

/** @param {...Uint8Array<ArrayBuffer>} parts */
function joined(...parts) {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

/** @param {Uint8Array} bytes */
const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

/** @param {string} hex */
const bytesOfHex = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))

/** @param {Uint8Array} bytes */
const base64Of = (bytes) => btoa(String.fromCharCode(...bytes))

/** @param {string} base64 */
const bytesOfBase64 = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))

/**
 * @param {Uint8Array<ArrayBuffer>} deflated
 * @returns {Promise<string>} the empty text for what was not deflated, or is too long
 */
async function inflated(deflated) {
  const reader = new Blob([deflated]).stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += decoder.decode(part.value, { stream: true })
      if (text.length > LONGEST_RECEIPT) return ''
    }
    return text
  } catch {
    return ''
  }
}
