import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Attestor, createCopyTarget, createFolderTarget, nameOfCopy } from '#integrity/attestors.ts'
import { createLog, never, useOutside } from './log.ts'

const put = (attestor: Attestor, checkpoint = createLog().checkpoint(3)) =>
  attestor.ask(checkpoint, { last: 0, signal: never }).then(String, (error: Error) => error.message)

describe('copies of checkpoints', () => {
  const log = createLog()
  let outside: Awaited<ReturnType<typeof useOutside>>
  let folder: string
  before(async () => {
    outside = await useOutside()
    folder = await mkdtemp(join(tmpdir(), 'tillbook-copies-'))
  })
  after(async () => {
    outside.close()
    await rm(folder, { recursive: true })
  })

  it('have names in the order of sizes, and other names for another history [PROOF-65]', () => {
    const name = nameOfCopy(log.checkpoint(3))
    expect(name).to.match(/^tillbook-0197f1d4-0000-7000-8000-000000000001-0000000000000003-[0-9a-f]{16}\.checkpoint$/)
    expect(nameOfCopy(log.checkpoint(12)) > name).to.equal(true)
    expect(nameOfCopy(createLog(undefined, 'forged ').checkpoint(3))).not.to.equal(name)
  })

  it('are uploaded without overwriting, with the token of the destination [PROOF-65]', async () => {
    const seen: unknown[] = []
    let status = 201
    outside.answers(({ method, url, headers }, body, response) => {
      const { authorization, 'if-none-match': condition } = headers
      seen.push({ method, url, authorization, condition, body: body.toString() })
      response.writeHead(status).end()
    })
    const checkpoint = log.checkpoint(3)
    const name = nameOfCopy(checkpoint)
    const place = createCopyTarget({ url: `${outside.url}/seals`, token: 'secret-of-the-place', timeout_ms: 1_000 })
    expect(await put(place, checkpoint)).to.equal(name)
    const call = { method: 'PUT', url: `/seals/${name}`, condition: '*', body: checkpoint.note }
    expect(seen).to.deep.equal([{ ...call, authorization: 'Bearer secret-of-the-place' }])
    status = 412
    expect(await put(place, checkpoint), 'it is there').to.equal(name)
    for (const refusing of [301, 401, 403, 405, 409, 507]) {
      status = refusing
      expect(await put(place, checkpoint)).to.equal(`answered ${refusing}`)
    }
    expect(place.source, 'without the secret').to.equal(`${outside.url}/seals`)
    status = 204
    expect(await put(createCopyTarget({ url: outside.url, token: undefined }), checkpoint)).to.equal(name)
    expect(seen.at(-1)).to.deep.equal({ ...call, url: `/${name}`, authorization: undefined })
  })

  it('are files that are created once and never rewritten [PROOF-65]', async () => {
    const path = join(folder, 'made', 'copies')
    const attestor = createFolderTarget(path)
    const checkpoint = log.checkpoint(3)
    const name = nameOfCopy(checkpoint)
    expect(await put(attestor, checkpoint)).to.equal(name)
    expect(await put(attestor, checkpoint), 'once more').to.equal(name)
    expect(await readFile(join(path, name), 'utf8')).to.equal(checkpoint.note)
    expect((await stat(join(path, name))).mode & 0o222, 'nobody writes it').to.equal(0)
    // Partial files of a crash and files of others stay unchanged.
    const next = log.checkpoint(4)
    await writeFile(join(path, nameOfCopy(next)), '')
    expect(await put(attestor, next)).to.equal(`${nameOfCopy(next)}.2`)
    expect(await put(attestor, next)).to.equal(`${nameOfCopy(next)}.2`)
    expect(await readdir(path)).to.have.members([name, nameOfCopy(next), `${nameOfCopy(next)}.2`])
    const last = log.checkpoint(5)
    for (const end of ['', '.2', '.3']) await writeFile(join(path, `${nameOfCopy(last)}${end}`), 'forged')
    expect(await put(attestor, last)).to.equal(`${nameOfCopy(last)} is there with other contents`)
  })

  it('wait for a missing folder [PROOF-65]', async () => {
    await writeFile(join(folder, 'file'), '')
    expect(await put(createFolderTarget(join(folder, 'file')))).to.match(/EEXIST|ENOTDIR/)
  })
})
