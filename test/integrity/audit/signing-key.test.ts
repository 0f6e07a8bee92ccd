import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { keyIdOf, makeSigningKey, pemOf, readPublicKeys, readSigningKey } from '#integrity/note.ts'

describe('signing keys of checkpoints', () => {
  let directory: string
  let keyFile: string

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tillbook-seals-'))
    keyFile = join(directory, 'keys', 'seal-key.pem')
  })
  afterEach(() => rm(directory, { recursive: true }))

  it('are created once, readable by their owner only, also by processes that start together [AUDIT-4]', async () => {
    expect(await readSigningKey(keyFile)).to.equal(null)
    const keys = await Promise.all([1, 2, 3].map(() => makeSigningKey(keyFile)))
    expect(new Set(keys.map(({ keyId }) => keyId)).size).to.equal(1)
    expect((await stat(keyFile)).mode & 0o777).to.equal(0o600)
    const [{ publicKey, keyId }] = keys as [(typeof keys)[0]]
    expect(keyIdOf(publicKey)).to.equal(keyId)
    expect(await readPublicKeys(keyFile)).to.deep.equal([publicKey])
    const other = await makeSigningKey(join(directory, 'other.pem'))
    const ring = join(directory, 'ring.pem')
    await writeFile(ring, `${pemOf(publicKey)}${pemOf(other.publicKey)}`)
    expect(await readPublicKeys(ring)).to.deep.equal([publicKey, other.publicKey])
  })

  it('are Ed25519 keys; a file with other contents is refused', async () => {
    const other = join(directory, 'p256.pem')
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    await writeFile(other, privateKey.export({ type: 'pkcs8', format: 'pem' }))
    for (const load of [readSigningKey, readPublicKeys])
      expect(await load(other).catch((error: Error) => error.message)).to.include('no Ed25519 key')
    await writeFile(other, 'nothing')
    expect(await readSigningKey(other).catch((error: unknown) => error)).to.be.instanceOf(Error)
  })
})
