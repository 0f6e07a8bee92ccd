import { execFile, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { COMMANDS } from '#cli/commands.ts'
import { runCheckpointRound } from '#integrity/checkpoint-schedule.ts'
import type { Sealing } from '#integrity/checkpoints.ts'
import { exportLines } from '#integrity/ledger-export.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { openCounter } from '../support/offline-sales.ts'

const VERIFIER = 'verifier/tillbook-verify.mjs'
const HAS_PYTHON = spawnSync('python3', ['-c', '']).status === 0

describe('auditor guide', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let directory: string
  let lines: string[]
  let vkey: string

  const save = (name: string, text: string) => writeFile(join(directory, name), text)
  const answerOf = async (path: string) => JSON.stringify((await company.get(path)).body)

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tillbook-auditors-'))
    api = await startApi(database.url)
    company = await api.company()
    const first = await company.post('/customers', { name: 'Cliente' })
    expect(first.status).to.equal(201)
    const kept = await answerOf('/events/checkpoint?fresh=true')
    await save('checkpoint-kept.json', kept)
    for (const [n, notes] of ['Ana\u2028"\\/', 'São João 😀', '\u007f<>&'].entries())
      expect((await company.post('/customers', { name: `Cliente ${n}`, notes })).status).to.equal(201)
    const counter = await openCounter(company)
    const [sold, cancelled] = [await counter.sell(), await counter.sell()]
    expect((await company.post(`/sales/${cancelled.id}/cancel`, { reason: 'Desistência' })).status).to.equal(200)
    for (const { id } of [sold, cancelled])
      await save(`receipt-${id}.json`, (await company.get(`/sales/${id}/receipt`)).text)
    lines = []
    for await (const line of exportLines(api.core.store, company.id, 0)) lines.push(line)
    const sealing = api.core.sealing as Sealing
    const failed: unknown[] = []
    await runCheckpointRound(sealing, {
      onSealed: () => {},
      onError: (error: unknown) => failed.push(error),
    })
    expect(failed).to.deep.equal([])
    const ring = await (await fetch(`${api.url}/proof/keys`)).text()
    vkey = JSON.parse(ring).keys[0].log_vkey
    await save('keys.json', ring)
    await save('checkpoint.json', await answerOf('/events/checkpoint'))
    await save('place.json', await answerOf('/events/checkpoint/place'))
    await save(
      'consistency.json',
      await answerOf(`/events/consistency?from=${JSON.parse(kept).data.size}&to=${lines.length}`),
    )
    await save('export.jsonl', lines.join(''))
  })
  after(async () => {
    await api.close()
    await rm(directory, { recursive: true })
  })

  /** Runs a verifier, which shares no code with the service, on all files except `without`. */
  async function verify(command: readonly string[], without: readonly string[] = []) {
    const files = (await readdir(directory))
      .filter((name) => !without.includes(name))
      .map((name) => join(directory, name))
    const [program = '', ...args] = [...command, '--key', vkey, ...files]
    return new Promise<{ code: number; stdout: string }>((resolve) => {
      execFile(program, args, (error, stdout) => resolve({ code: Number(error?.code ?? 0), stdout }))
    })
  }

  for (const command of [
    [process.execPath, VERIFIER, '--json'],
    ...(HAS_PYTHON ? [['python3', 'test/integrity/proofs/verify.py']] : []),
  ])
    it(`names a verifier that verifies exports of a service: ${command[1]} [PROOF-80] [PROOF-82]`, async () => {
      const { code, stdout } = await verify(command)
      const { verdict, items } = JSON.parse(stdout)
      expect(verdict, stdout).to.equal('sound')
      expect(code).to.equal(0)
      const kinds = items.map(({ kind }: { kind: string }) => kind).sort()
      expect(kinds).to.deep.equal([
        ...['checkpoint', 'checkpoint', 'consistency', 'export', 'keys', 'place', 'receipt', 'receipt'],
      ])
      const forged = (lines[1] ?? '').replace('"origin":"', '"origin":"x')
      for (const [text, found] of [
        [lines.with(1, forged), 'wrong_hash'],
        [lines.toSpliced(1, 1), 'wrong_revision'],
        [lines.slice(0, -1), 'truncated'],
      ] as const) {
        await save('export.jsonl', text.join(''))
        const wrong = await verify(command)
        expect(wrong.code).to.equal(1)
        expect(wrong.stdout).to.include(found)
      }
      await save('export.jsonl', lines.join(''))
    })

  if (!HAS_PYTHON) it.skip('names a format with an independent verifier: skipped without python3 [PROOF-82]')

  it('names a verifier that every service serves, with the documented digest [PROOF-83]', async () => {
    const answer = await fetch(`${api.url}/tillbook-verify.mjs`)
    const bytes = Buffer.from(await answer.arrayBuffer())
    expect(bytes.equals(readFileSync(VERIFIER))).to.equal(true)
    const digest = createHash('sha256').update(bytes)
    expect(answer.headers.get('Repr-Digest')).to.equal(`sha-256=:${digest.copy().digest('base64')}:`)
    expect(answer.headers.get('Content-Type')).to.include('text/javascript')
    expect(readFileSync('docs/proof.md', 'utf8')).to.include(`${digest.digest('hex')}  tillbook-verify.mjs`)
    expect((await fetch(`${api.url}/tillbook-verify.mjs`, { method: 'POST' })).status).to.equal(405)
  })

  it('shows existing commands [OPS-17]', () => {
    const shown = [...readFileSync('docs/auditors.md', 'utf8').matchAll(/tillbook -- ledger ([a-z-]+)/g)]
    const verbs = Object.keys(COMMANDS)
    for (const [, verb] of shown) expect(verbs).to.include(`ledger ${verb}`)
    for (const verb of ['verify', 'seal', 'public-key', 'export', 'history', 'as-of'])
      expect(shown.map(([, name]) => name)).to.include(verb)
  })
})
