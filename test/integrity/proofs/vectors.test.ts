import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect } from 'chai'
import { proofVectors } from '../../../tools/proof-vectors.ts'
import { parseVkey, verifyFiles } from './verifier.ts'

describe('the verifier', () => {
  const { files, cases } = proofVectors()
  let directory: string

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tillbook-proof-'))
    for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text)
  })
  after(() => rm(directory, { recursive: true }))

  for (const { title, keys, files: names, verdict, found } of cases) {
    it(`reports for ${title}: ${verdict} [PROOF-80]`, async () => {
      const paths = names.map((name) => join(directory, name))
      const report = await verifyFiles(paths, keys.map(parseVkey))
      const reasons = report.items.flatMap(({ file, reason }) => (reason === null ? [] : [[basename(file), reason]]))
      expect(Object.fromEntries(reasons.reverse())).to.deep.equal(found)
      expect(report.verdict).to.equal(verdict)
    })
  }

  it('refuses an event that parsers can read differently [PROOF-84]', async () => {
    const [first = '', second = ''] = (files['export.jsonl'] ?? '').split('\n')
    const changed: [how: string, line: string | Buffer][] = [
      ['a member twice', second.replace('"actor":', '"actor":null,"actor":')],
      ['a number in another notation', second.replace('"revision":1', '"revision":1.0')],
      ['a blank', second.replace('":', '": ')],
      ['an unnecessary escape', second.replace('"origin"', '"\\u006frigin"')],
      ['a lone surrogate', second.replace('😀', '\\ud83d')],
      ['another member', second.replace('{', '{"more":1,')],
      ['a missing member', second.replace('"request_id":null,', '')],
      ['a carriage return', `${second}\r`],
      ['invalid UTF-8', Buffer.from(second.replace('ã', '\u00ff'), 'latin1')],
      ['a byte order mark', `\ufeff${second}`],
      ['an empty line', ''],
    ]
    for (const [how, line] of changed) {
      const path = join(directory, 'strict.jsonl')
      await writeFile(path, Buffer.concat([Buffer.from(`${first}\n`), Buffer.from(line), Buffer.from('\n')]))
      const [item] = (await verifyFiles([path], [])).items
      expect(item?.reason, how).to.equal('malformed')
    }
  })

  it('is one file of less than 400 lines of code, and imports nothing but Node [PROOF-80]', () => {
    const text = readFileSync('verifier/tillbook-verify.mjs', 'utf8')
    const code = text.split('\n').filter((line) => !/^\s*($|\/\*\*|\*|\/\/)/.test(line))
    expect(code.length).to.be.lessThan(400)
    expect(code.filter((line) => /^import|import\(/.test(line)).every((line) => line.includes("'node:"))).to.equal(true)
  })
})

describe('the specification of proofs', () => {
  const { cases } = proofVectors()
  const hasPython = spawnSync('python3', ['-c', '']).status === 0
  const itWithPython = hasPython ? it : it.skip

  itWithPython(`suffices for a verifier in Python${hasPython ? '' : ': python3 is not installed'} [PROOF-82]`, () => {
    const args = ['test/integrity/proofs/verify.py', '--vectors', 'docs/proof/vectors.json']
    const reports = JSON.parse(execFileSync('python3', args, { encoding: 'utf8' }))
    expect(reports).to.deep.equal(cases.map(({ title, verdict, found }) => ({ title, verdict, found })))
  })
})
