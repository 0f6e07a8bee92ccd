import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

const sha256 = (bytes: Buffer | string): Buffer => createHash('sha256').update(bytes).digest()
const text = (bytes: Buffer): string => bytes.toString('base64url')

/** CBOR of the few values that passkeys need. */
function cbor(value: number | string | Buffer | Map<number | string, unknown>): Buffer {
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  const members = [...value].flatMap(([name, member]) => [cbor(name), cbor(member as Buffer)])
  return Buffer.concat([head(5, value.size), ...members])
}

function head(major: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(major << 5) | length])
  if (length < 256) return Buffer.from([(major << 5) | 24, length])
  return Buffer.from([(major << 5) | 25, length >> 8, length & 255])
}

const PRESENT = 0x01
const HAS_CREDENTIAL = 0x40

/** A security key in software, with one ES256 credential. It answers like a browser at `origin`. */
export function createAuthenticator(origin: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const id = randomBytes(32)
  const site = sha256(new URL(origin).hostname)
  let counter = 0

  const clientData = (type: string, challenge: string) =>
    Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))

  function authenticatorData(flags: number, more = Buffer.alloc(0)): Buffer {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(++counter)
    return Buffer.concat([site, Buffer.from([flags]), count, more])
  }

  const answer = (response: object) => JSON.stringify({ id: text(id), rawId: text(id), type: 'public-key', response })

  return {
    create({ challenge }: { readonly challenge: string }): string {
      const key = new Map<number, number | Buffer>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Buffer.from(x, 'base64url')],
        [-3, Buffer.from(y, 'base64url')],
      ])
      const credential = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, cbor(key)])
      const authData = authenticatorData(PRESENT | HAS_CREDENTIAL, credential)
      const attestation = new Map<string, unknown>([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', authData],
      ])
      return answer({
        clientDataJSON: text(clientData('webauthn.create', challenge)),
        attestationObject: text(cbor(attestation)),
        transports: ['usb'],
      })
    },
    get({ challenge }: { readonly challenge: string }): string {
      const data = clientData('webauthn.get', challenge)
      const signed = authenticatorData(PRESENT)
      const signature = sign('sha256', Buffer.concat([signed, sha256(data)]), privateKey)
      return answer({
        clientDataJSON: text(data),
        authenticatorData: text(signed),
        signature: text(signature),
      })
    },
  }
}
