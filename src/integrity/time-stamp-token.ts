import { createHash, timingSafeEqual, X509Certificate } from 'node:crypto'
import { Integer, Null, OctetString } from 'asn1js'
import {
  AlgorithmIdentifier,
  Certificate,
  MessageImprint,
  SignedData,
  TimeStampReq,
  TimeStampResp,
  TSTInfo,
} from 'pkijs'
import { AttestorFailed } from './attestors.ts'

/** Object identifiers of RFC 3161, RFC 5816 and RFC 5280. */
const SHA_256 = '2.16.840.1.101.3.4.2.1'
const SIGNED_DATA = '1.2.840.113549.1.7.2'
const TST_INFO = '1.2.840.113549.1.9.16.1.4'
const CERTIFICATE_HASHES: Readonly<Record<string, string>> = {
  '1.2.840.113549.1.9.16.2.12': 'sha1',
  '1.2.840.113549.1.9.16.2.47': 'sha256',
}
const HASH_OIDS: Readonly<Record<string, string>> = {
  [SHA_256]: 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
}
const EXTENDED_KEY_USAGE = '2.5.29.37'
const TIME_STAMPING = '1.3.6.1.5.5.7.3.8'
const GRANTED = [0, 1]

/** A TimeStampReq as DER that also requests the certificate. */
export function timeStampRequest(text: string, nonce: Buffer): Buffer {
  const request = new TimeStampReq({
    version: 1,
    messageImprint: new MessageImprint({
      hashAlgorithm: new AlgorithmIdentifier({ algorithmId: SHA_256, algorithmParams: new Null() }),
      hashedMessage: new OctetString({ valueHex: sha256(text) }),
    }),
    nonce: new Integer({ valueHex: positive(nonce) }),
    certReq: true,
  })
  return Buffer.from(request.toSchema().toBER())
}

export interface TimeStamp {
  /** UTC, milliseconds. */
  readonly at: string
}

interface Expected {
  /** The stamped text. */
  readonly text: string
  /** Null if unknown, as for a stored stamp. */
  readonly nonce: Buffer | null
  /** Trusted certificates in PEM; null accepts any certificate that the authority sends. */
  readonly trusted: string | null
}

/**
 * Verifies a TimeStampResp for a text: imprint, nonce, signature, that the signing certificate is the one named in the
 * signed attributes and is for time stamps, and that it chains to a trusted certificate if any are configured. @throws
 * AttestorFailed
 */
export async function verifyStamp(der: Buffer, expected: Expected): Promise<TimeStamp> {
  try {
    return await verified(der, expected)
  } catch (error) {
    if (error instanceof AttestorFailed) throw error
    // The libraries throw many kinds of errors for invalid bytes.
    throw new AttestorFailed('wrong_answer', `the stamp is wrong: ${(error as Error).message}`, { cause: error })
  }
}

async function verified(der: Buffer, { text, nonce, trusted }: Expected): Promise<TimeStamp> {
  const signed = signedDataOf(der)
  const info = infoOf(signed)
  if (
    info.messageImprint.hashAlgorithm.algorithmId !== SHA_256 ||
    !isSame(viewOf(info.messageImprint.hashedMessage), sha256(text))
  )
    throw wrong('the stamp is of something else')
  if (nonce && !(info.nonce && isSame(viewOf(info.nonce), positive(nonce))))
    throw wrong('the stamp answers another request')
  const signer = signerOf(signed)
  if (!isForStamps(signer)) throw wrong('its certificate is not for time stamps')
  const trustedCerts = trusted === null ? [] : certificatesOf(trusted)
  const isSigned = await signed.verify({
    signer: 0,
    data: exactly(Buffer.from(text)),
    checkChain: trusted !== null,
    trustedCerts,
    passedWhenNotRevValues: true,
  })
  if (!isSigned) throw wrong('its signature is wrong')
  return { at: info.genTime.toISOString() }
}

/** SignedData of a TimeStampResp with a granted status. */
function signedDataOf(der: Buffer): SignedData {
  if (!isDer(der)) throw wrong('the answer cannot be read')
  const response = TimeStampResp.fromBER(exactly(der))
  const { status, statusStrings } = response.status
  if (!GRANTED.includes(status)) {
    const why = statusStrings?.map(({ valueBlock }) => valueBlock.value).join(' ') ?? ''
    throw new AttestorFailed('refused', `no stamp was granted (status ${status})${why && `: ${why.slice(0, 200)}`}`)
  }
  const token = response.timeStampToken
  if (token?.contentType !== SIGNED_DATA) throw wrong('the answer has no stamp')
  return new SignedData({ schema: token.content })
}

function infoOf({ digestAlgorithms, encapContentInfo, signerInfos }: SignedData): TSTInfo {
  const content = encapContentInfo.eContent
  if (encapContentInfo.eContentType !== TST_INFO || !content || signerInfos.length !== 1)
    throw wrong('it holds no stamp')
  const digest = signerInfos[0]?.digestAlgorithm.algorithmId
  if (!digestAlgorithms.some(({ algorithmId }) => algorithmId === digest))
    throw wrong('it is hashed otherwise than it says')
  return TSTInfo.fromBER(content.getValue())
}

/**
 * Finds the certificate by its hash in the signed attributes. Without that check another certificate of the same key
 * could replace it.
 */
function signerOf({ certificates = [], signerInfos }: SignedData): Certificate {
  const hashes = (signerInfos[0]?.signedAttrs?.attributes ?? []).flatMap(({ type, values }) => {
    const byDefault = CERTIFICATE_HASHES[type]
    return byDefault === undefined ? [] : [certificateHash(values[0], byDefault)]
  })
  if (hashes.length === 0) throw wrong('it does not say which certificate signed it')
  const all = certificates.filter((each): each is Certificate => 'subjectPublicKeyInfo' in each)
  const isSigner = (each: Certificate) => {
    // OpenSSL parses more strictly.
    const der = new X509Certificate(Buffer.from(each.toSchema(true).toBER())).raw
    return hashes.every(({ algorithm, hash }) => isSame(createHash(algorithm).update(der).digest(), hash))
  }
  const [signer] = all.filter(isSigner)
  const sid = signerInfos[0]?.sid
  const isNamed = signer && sid && 'serialNumber' in sid ? signer.serialNumber.isEqual(sid.serialNumber) : signer
  if (!signer || !isNamed) throw wrong('the certificate that signed it is not there')
  return signer
}

interface Block {
  readonly valueBlock: { readonly value?: readonly Block[]; readonly valueHexView?: Uint8Array; toString(): string }
  readonly idBlock: { readonly tagNumber: number }
}

const SEQUENCE = 16

/** The first ESSCertID of a SigningCertificate: [algorithm,] hash [, issuer and serial]. */
function certificateHash(attribute: Block, byDefault: string): { algorithm: string; hash: Buffer } {
  const [first, second] = attribute.valueBlock.value?.[0]?.valueBlock.value?.[0]?.valueBlock.value ?? []
  const names = first?.idBlock.tagNumber === SEQUENCE ? first.valueBlock.value?.[0]?.valueBlock.toString() : undefined
  const algorithm = names === undefined ? byDefault : HASH_OIDS[names]
  const hash = (names === undefined ? first : second)?.valueBlock.valueHexView
  if (algorithm === undefined || !hash) throw new Error('this names no certificate')
  return { algorithm, hash: Buffer.from(hash) }
}

function isForStamps({ extensions = [] }: Certificate): boolean {
  const usage = extensions.find(({ extnID }) => extnID === EXTENDED_KEY_USAGE)?.parsedValue as
    | { keyPurposes?: readonly string[] }
    | undefined
  return usage?.keyPurposes?.includes(TIME_STAMPING) ?? false
}

const PEM = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/g

function certificatesOf(pem: string): Certificate[] {
  return [...pem.matchAll(PEM)].map(([, base64 = '']) => Certificate.fromBER(exactly(Buffer.from(base64, 'base64'))))
}

const CONSTRUCTED = 0x20
const LONG_TAG = 0x1f
const LENGTH_BYTES = 3

/**
 * Whether the bytes are exactly one DER value with correct nested lengths. The library accepts more than OpenSSL does.
 */
function isDer(bytes: Buffer): boolean {
  const end = endOf(bytes, 0)
  return end !== null && end === bytes.length
}

/** End of the value that starts at an offset; null if it is invalid. */
function endOf(bytes: Buffer, start: number): number | null {
  const [tag = LONG_TAG, length] = bytes.subarray(start, start + 2)
  if ((tag & LONG_TAG) === LONG_TAG || length === undefined) return null
  const digits = length < 0x80 ? 0 : length - 0x80
  if (digits > LENGTH_BYTES || length === 0x80 || start + 2 + digits > bytes.length) return null
  const content = start + 2 + digits
  const end = content + (digits === 0 ? length : bytes.readUIntBE(start + 2, digits))
  if (end > bytes.length) return null
  if ((tag & CONSTRUCTED) === 0) return end
  let at = content
  while (at < end) {
    const next = endOf(bytes.subarray(0, end), at)
    if (next === null) return null
    at = next
  }
  return end
}

const wrong = (message: string): AttestorFailed => new AttestorFailed('wrong_answer', message)

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()

const viewOf = ({ valueBlock }: { readonly valueBlock: { readonly valueHexView: Uint8Array } }): Buffer =>
  Buffer.from(valueBlock.valueHexView)

const isSame = (one: Buffer, other: Buffer): boolean => one.length === other.length && timingSafeEqual(one, other)

/** Encodes a positive DER INTEGER: no redundant leading zeros, one if the first bit is set. */
function positive(bytes: Buffer): Buffer {
  const start = bytes.findIndex((byte) => byte !== 0)
  const digits = start < 0 ? Buffer.of(0) : bytes.subarray(start)
  return (digits[0] ?? 0) < 0x80 ? digits : Buffer.concat([Buffer.of(0), digits])
}

/** Copies only the buffer's own bytes, not the shared memory around them. */
const exactly = (bytes: Buffer): ArrayBuffer => new Uint8Array(bytes).buffer
