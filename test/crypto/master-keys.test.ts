import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { configuredMasterKeys, masterKeySecretOf, masterKeysInFile, WrongMasterKey } from '#crypto/master-keys.ts'
import { toMasterKey } from '#crypto/vault.ts'

const SECRET = Buffer.from(Array.from({ length: 32 }, (_, at) => 255 - at))

describe('master key', () => {
  it('is read from base64, in either alphabet, or hexadecimal, and no other format [OPS-70]', () => {
    for (const encoding of ['hex', 'base64', 'base64url'] as const)
      expect(masterKeySecretOf(SECRET.toString(encoding))?.equals(SECRET), encoding).to.equal(true)
    const text = SECRET.toString('base64')
    for (const wrong of ['', 'x', text.slice(1), `${text}=`, `${text.slice(0, 20)} ${text.slice(20)}`, '0'.repeat(63)])
      expect(masterKeySecretOf(wrong), wrong).to.equal(null)
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
