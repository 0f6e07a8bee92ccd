import { expect } from 'chai'
import {
  formatCheckpoint,
  installationOriginOf,
  originOf,
  parseCheckpoint,
  parseOrigin,
  parseProof,
  proofText,
} from '#integrity/checkpoint.ts'
import { EMPTY_ROOT, leafHash } from '#integrity/merkle.ts'

const INSTALLATION = '0198c1f2-7e1a-7c3e-8a55-6f1f3d9f0b11'
const TEXT = `tillbook/${INSTALLATION}/company-7
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
`

describe('checkpoints', () => {
  it('have three lines: origin, size, root [PROOF-3, CELL-9]', () => {
    const checkpoint = parseCheckpoint(TEXT)
    expect(checkpoint?.origin).to.equal(originOf(INSTALLATION, 7))
    expect(checkpoint?.size).to.equal(20_852_163)
    expect(checkpoint && formatCheckpoint(checkpoint)).to.equal(TEXT)
    expect(installationOriginOf({ installationId: INSTALLATION, cell: 0 })).to.equal(`tillbook/${INSTALLATION}`)
    expect(installationOriginOf({ installationId: INSTALLATION, cell: 2 })).to.equal(`tillbook/${INSTALLATION}/cell-2`)
    expect(parseOrigin(`tillbook/${INSTALLATION}/cell-2`)).to.deep.equal({ companyId: null })
    expect(parseOrigin(`tillbook/${INSTALLATION}/cell-`)).to.equal(null)
    expect(originOf(INSTALLATION, 7, 2)).to.equal(`tillbook/${INSTALLATION}/company-7/2`)
  })

  it('are refused in any other form [PROOF-3]', () => {
    const others = [
      '',
      TEXT.trimEnd(),
      `${TEXT}more\n`,
      `${TEXT}\n`,
      TEXT.replace('tillbook', '\ntillbook'),
      TEXT.replace(/^.*\n/, '\n'),
      TEXT.replace('2085', '02085'),
      TEXT.replace('20852163', '-1'),
      TEXT.replace('20852163', '9007199254740993'),
      TEXT.replace('2I=', '2J='),
      TEXT.replace('CsUY', ''),
    ]
    for (const text of others) expect(parseCheckpoint(text), text).to.equal(null)
  })

  it('make self-contained proofs [PROOF-3]', () => {
    const checkpoint = `${TEXT}\n— ${originOf(INSTALLATION, 7)} AAAAAAAA\n`
    const proof = { index: 73_894, hashes: [EMPTY_ROOT, leafHash(EMPTY_ROOT)], checkpoint }
    const text = proofText(proof)
    expect(text.split('\n').slice(0, 2)).to.deep.equal(['c2sp.org/tlog-proof@v1', 'index 73894'])
    expect(parseProof(text)).to.deep.equal(proof)
    expect(parseProof(text.replace('index', 'extra AAAA\nindex')), 'extra data say nothing').to.deep.equal(proof)
    expect(parseProof(proofText({ ...proof, hashes: [] }))?.hashes).to.deep.equal([])
    const others = [text.replace('@v1', '@v2'), text.replace('index 7', 'index 07'), text.replace('index', 'place')]
    for (const other of ['', ...others, text.replace('47DE', '47D'), text.replace('\n\n', '\n')])
      expect(parseProof(other), other).to.equal(null)
  })
})
