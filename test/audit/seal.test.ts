import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { isGenuine, parseSeals, type Seal } from '#audit/seal.ts'
import { keyIdOf, makeSigningKey, pemOf, readPublicKeys, readSigningKey } from '#audit/signing-key.ts'
import { streamOf } from '#ledger/envelope.ts'
import { sealHead } from './seals-of-01.ts'

const NOW = '2026-11-21T12:00:00.000Z'

describe('seals of 0.1', () => {
  let directory: string
  let keyFile: string

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tillbook-seals-'))
    keyFile = join(directory, 'keys', 'seal-key.pem')
  })
  afterEach(() => rm(directory, { recursive: true }))

  it('are signed with a key that is made once, for its owner only, also for two that come at once [AUDIT-4]', async () => {
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

  it('take no key of another kind, nor none at all', async () => {
    const other = join(directory, 'rsa.pem')
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    await writeFile(other, privateKey.export({ type: 'pkcs8', format: 'pem' }))
    for (const load of [readSigningKey, readPublicKeys])
      expect(await load(other).catch((error: Error) => error.message)).to.include('no Ed25519 key')
    await writeFile(other, 'nothing')
    expect(await readSigningKey(other).catch((error: unknown) => error)).to.be.instanceOf(Error)
  })

  it('are not genuine when any member was changed, or when another key made them [AUDIT-4]', async () => {
    const made = sealHead(7, { revision: 1, hash: 'b'.repeat(64) }, NOW, await makeSigningKey(keyFile))
    const other = await makeSigningKey(join(directory, 'other.pem'))
    const changed: Partial<Seal>[] = [
      { company_id: 8 },
      { company_id: 8, stream: streamOf(8) },
      { stream: 'company-999' },
      { revision: 0 },
      { hash: 'a'.repeat(64) },
      { sealed_at: '2026-11-21T12:00:00.001Z' },
      { key_id: other.keyId },
      { public_key: other.publicKey, key_id: other.keyId },
      { signature: Buffer.alloc(64).toString('base64') },
      { signature: '' },
    ]
    expect(isGenuine(made, made.public_key)).to.equal(true)
    for (const change of changed) {
      const forged = { ...made, ...change }
      expect(isGenuine(forged, forged.public_key), JSON.stringify(change)).to.equal(false)
    }
    const others = sealHead(7, made, NOW, other)
    expect(isGenuine(others, others.public_key)).to.equal(true)
    expect(isGenuine(others, made.public_key)).to.equal(false)
    expect(isGenuine({ ...made, public_key: 'AAAA', key_id: keyIdOf('AAAA') }, 'AAAA')).to.equal(false)
  })

  it('may be one document, a list, or one a line; anything else is said to be none, with its line', () => {
    const key = { company_id: 1, stream: 'company-1', revision: 0, hash: 'a'.repeat(64), sealed_at: NOW }
    const one: Seal = { version: 1, ...key, key_id: 'k', public_key: 'AAAA', signature: 'AAAA' }
    for (const text of [
      JSON.stringify(one),
      JSON.stringify(one, null, 2),
      JSON.stringify([one]),
      `\n${JSON.stringify(one)}\n\n`,
    ])
      expect(parseSeals(text)).to.deep.equal({ seals: [one] })
    expect(parseSeals(`${JSON.stringify(one)}\n${JSON.stringify(one)}`)).to.deep.equal({ seals: [one, one] })
    expect(parseSeals(`${JSON.stringify(one)}\nnope`)).to.deep.equal({ line: 2 })
    expect(parseSeals('nope')).to.deep.equal({ line: 1 })
    expect(parseSeals(JSON.stringify({ ...one, note: 1 }))).to.deep.equal({ line: 1 })
    expect(parseSeals('')).to.deep.equal({ seals: [] })
  })
})
