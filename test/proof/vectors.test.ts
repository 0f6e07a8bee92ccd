import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect } from 'chai'
import { proofVectors } from '../../tools/proof-vectors.ts'
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
    it(`finds of ${title}: ${verdict} [PROOF-80]`, async () => {
      const paths = names.map((name) => join(directory, name))
      const report = await verifyFiles(paths, keys.map(parseVkey))
      const reasons = report.items.flatMap(({ file, reason }) => (reason === null ? [] : [[basename(file), reason]]))
      expect(Object.fromEntries(reasons.reverse())).to.deep.equal(found)
      expect(report.verdict).to.equal(verdict)
    })
  }
})
