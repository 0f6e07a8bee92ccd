import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { configuredMasterKeys, masterKeysInFile, parseMasterKey, WrongMasterKey } from '#crypto/master-keys.ts'
import { createVault, getSealingKeyId, toMasterKey, UnknownMasterKey } from '#crypto/vault.ts'

const SECRET = Buffer.from(Array.from({ length: 32 }, (_, at) => 255 - at))

describe('master key', () => {
  it('is read from base64, in either alphabet, or hexadecimal, and no other format [OPS-70]', () => {
    for (const encoding of ['hex', 'base64', 'base64url'] as const)
      expect(parseMasterKey(SECRET.toString(encoding))?.equals(SECRET), encoding).to.equal(true)
    const text = SECRET.toString('base64')
    for (const wrong of ['', 'x', text.slice(1), `${text}=`, `${text.slice(0, 20)} ${text.slice(20)}`, '0'.repeat(63)])
      expect(parseMasterKey(wrong), wrong).to.equal(null)
  })

  it('is identified by an id that reveals nothing about it [OPS-70]', () => {
    const keys = configuredMasterKeys([SECRET, Buffer.alloc(32)], 'MASTER_KEY')
    const { id } = keys.current()
    expect(id).to.match(/^[0-9a-f]{16}$/)
    expect(SECRET.toString('hex')).not.to.include(id.slice(0, 6))
    expect(keys.find(toMasterKey(Buffer.alloc(32)).id)?.id).to.equal(keys.all()[1]?.id)
    expect(keys.find('0'.repeat(16))).to.equal(null)
  })
})

describe('file of master keys', () => {
  let folder: string
  let path: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tillbook-keys-'))
    path = join(folder, 'data', 'master.key')
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('is created once, readable by its owner only, even by concurrent processes [OPS-70]', async () => {
    const processes = Array.from({ length: 5 }, () => masterKeysInFile(path))
    expect(processes.map((keys) => keys.all())).to.deep.equal([[], [], [], [], []])
    expect(() => processes[0]?.current()).to.throw(WrongMasterKey, path)
    await Promise.all(processes.map((keys) => keys.file?.create()))
    expect(new Set(processes.map((keys) => keys.current().id)).size).to.equal(1)
    expect((await stat(path)).mode & 0o777).to.equal(0o600)
    expect(await readdir(join(folder, 'data'))).to.deep.equal(['master.key'])
  })

  it('is read again after it has changed, or if a key is missing [OPS-73]', async () => {
    const running = masterKeysInFile(path)
    await running.file?.create()
    const before = running.current()
    const rotating = masterKeysInFile(path)
    await rotating.file?.renew(SECRET)
    const { id } = toMasterKey(SECRET)
    expect(running.find(id)?.id).to.equal(id)
    expect(running.current().id).to.equal(id)
    expect(running.find(before.id)?.id).to.equal(before.id)
    await rotating.file?.dropFormer()
    expect((await readFile(path, 'utf8')).trim()).to.equal(SECRET.toString('base64'))
    expect(masterKeysInFile(path).find(before.id)).to.equal(null)
  })

  it('can be deleted without effect on a running process, and an unreadable one is reported with its path', async () => {
    const keys = masterKeysInFile(path)
    await keys.file?.create()
    const { id } = keys.current()
    await rm(path)
    expect(keys.current().id).to.equal(id)
    await writeFile(path, 'um segredo qualquer\n')
    await chmod(path, 0o600)
    expect(() => masterKeysInFile(path).all())
      .to.throw(WrongMasterKey, path)
      .and.not.match(/qualquer/)
  })
})

const [first, second] = [1, 2].map((fill) => toMasterKey(Buffer.alloc(32, fill))) as [
  ReturnType<typeof toMasterKey>,
  ReturnType<typeof toMasterKey>,
]
const holding = (...keys: (typeof first)[]) =>
  createVault({ current: () => keys[0] as typeof first, find: (id) => keys.find((key) => key.id === id) ?? null })

describe('vault', () => {
  const plain = Buffer.from('segredo')
  const sealed = holding(first).seal(plain, 'store_secrets/3')

  it('opens the data it has sealed, never produces the same ciphertext twice, and names the key [OPS-70]', () => {
    expect(holding(first).open(sealed, 'store_secrets/3').equals(plain)).to.equal(true)
    expect(sealed.includes(plain)).to.equal(false)
    expect(holding(first).seal(plain, 'store_secrets/3').equals(sealed)).to.equal(false)
    expect(getSealingKeyId(sealed))
      .to.equal(first.id)
      .and.match(/^[0-9a-f]{16}$/)
    expect(holding(first).open(holding(first).seal(Buffer.alloc(0), ''), '').length).to.equal(0)
  })

  it('opens what an earlier process has stored', () => {
    const stored = '01a86a3c7c1a09652a47953c1d19c8caeb55f8d4e73cb158d4b8e9458d73ea0458630e3c30315563f7b3b81f'
    expect(holding(first).open(Buffer.from(stored, 'hex'), 'store_secrets/3').equals(plain)).to.equal(true)
  })

  it('seals with the current key and opens with each of several keys', () => {
    const both = holding(second, first)
    expect(both.open(sealed, 'store_secrets/3').equals(plain)).to.equal(true)
    expect(getSealingKeyId(both.seal(plain, ''))).to.equal(second.id)
  })

  it('opens nothing without the key, in another context, or after a change', () => {
    expect(() => holding(second).open(sealed, 'store_secrets/3')).to.throw(UnknownMasterKey, first.id)
    expect(() => holding(first).open(sealed, 'store_secrets/4')).to.throw()
    for (const at of [0, 1, 9, 21, sealed.length - 1]) {
      const changed = Buffer.from(sealed)
      changed[at] = (changed[at] as number) ^ 1
      expect(() => holding(first).open(changed, 'store_secrets/3'), `byte ${at}`).to.throw()
    }
    expect(() => holding(first).open(sealed.subarray(0, -1), 'store_secrets/3')).to.throw()
    expect(() => holding(first).open(Buffer.from('whsec_'), '')).to.throw('not a sealed value')
  })
})
