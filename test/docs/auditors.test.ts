import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { exportLines } from '#audit/export.ts'
import { makeSigningKey } from '#audit/signing-key.ts'
import { COMMANDS } from '#cli/commands.ts'
import type { Envelope } from '#ledger/envelope.ts'
import { sealHead } from '../audit/seals-of-01.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { snippetsOf } from '../support/snippets.ts'

describe('the guide for auditors', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let directory: string
  let lines: string[]

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tillbook-auditors-'))
    api = await startApi(database.url)
    company = await api.company()
    for (const [n, notes] of ['Ana\u2028"\\/', 'São João 😀', '\u007f<>&'].entries())
      expect((await company.post('/customers', { name: `Cliente ${n}`, notes })).status).to.equal(201)
    lines = []
    for await (const line of exportLines(api.core.store, company.id, 0)) lines.push(line)
    const [script] = snippetsOf('docs/auditors.md').filter(({ file }) => file === 'verify-export.mjs')
    await writeFile(join(directory, 'verify-export.mjs'), script?.text ?? '')
  })
  after(async () => {
    await api.close()
    await rm(directory, { recursive: true })
  })

  /** Runs the guide's own program, which knows nothing of this one. */
  async function check(exported: readonly string[], seal?: object): Promise<{ code: number; stdout: string }> {
    const file = join(directory, 'export.jsonl')
    const sealFile = join(directory, 'seal.json')
    await writeFile(file, exported.join(''))
    if (seal) await writeFile(sealFile, JSON.stringify(seal))
    const args = [join(directory, 'verify-export.mjs'), file, ...(seal ? [sealFile] : [])]
    return new Promise((resolve) => {
      execFile(process.execPath, args, (error, stdout) => resolve({ code: Number(error?.code ?? 0), stdout }))
    })
  }

  const last = (): Envelope => JSON.parse(lines.at(-1) ?? '')
  const sealed = async () =>
    sealHead(company.id, last(), '2026-11-21T12:00:00.000Z', await makeSigningKey(join(directory, 'key.pem')))

  it('has a program that verifies a real export, and a seal [AUDIT-8]', async () => {
    const told = `${lines.length} events, the last with hash ${last().hash}\n`
    expect(await check(lines)).to.deep.equal({ code: 0, stdout: told })
    expect(await check(lines, await sealed())).to.deep.equal({ code: 0, stdout: told })
  })

  it('has a program that finds what was altered, removed, moved, cut off or forged [AUDIT-8]', async () => {
    const wrongAt = (revision: number) => ({ code: 1, stdout: `wrong at revision ${revision}\n` })
    expect(await check(lines.with(2, (lines[2] ?? '').replace('"origin":"', '"origin":"x')))).to.deep.equal(wrongAt(2))
    expect(await check(lines.toSpliced(2, 1))).to.deep.equal(wrongAt(2))
    expect(await check(lines.toSpliced(1, 2, lines[2] ?? '', lines[1] ?? ''))).to.deep.equal(wrongAt(1))
    const other = { code: 1, stdout: 'this is not the ledger that was sealed\n' }
    expect(await check(lines.slice(0, -1), await sealed())).to.deep.equal(other)
    const forged = { code: 1, stdout: 'the seal is forged\n' }
    expect(await check(lines, { ...(await sealed()), revision: 0 })).to.deep.equal(forged)
  })

  it('shows commands that there are [OPS-17]', () => {
    const shown = [...readFileSync('docs/auditors.md', 'utf8').matchAll(/tillbook -- ledger ([a-z-]+)/g)]
    const verbs = Object.keys(COMMANDS)
    for (const [, verb] of shown) expect(verbs).to.include(`ledger ${verb}`)
    for (const verb of ['verify', 'seal', 'public-key', 'export', 'history', 'as-of'])
      expect(shown.map(([, name]) => name)).to.include(verb)
  })
})
