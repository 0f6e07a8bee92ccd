import { expect } from 'chai'
import fc from 'fast-check'
import {
  appenderFrom,
  computeRoot,
  consistencyProof,
  EMPTY_ROOT,
  type Hashes,
  inclusionProof,
  isConsistent,
  isIncluded,
  leafHash,
  nodeHash,
} from '#integrity/merkle.ts'
import { explore, TITLE } from '../../support/random.ts'

/** Test vectors of RFC 6962 implementations (certificate-transparency): inputs, roots and proofs. */
const INPUTS = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f']
const ROOTS = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]
const PATH_OF_FIRST_IN_8 = [
  '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
  '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
  '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
]
const FROM_6_TO_8 = [
  '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
  'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
]

const leavesOf = (size: number) => Array.from({ length: size }, (_, index) => leafHash(Buffer.from(`leaf ${index}`)))

/** MTH, literally as in RFC 6962. */
function naiveRoot(leaves: readonly Buffer[]): Buffer {
  const [first] = leaves
  if (!first || leaves.length === 1) return first ?? EMPTY_ROOT
  const left = 2 ** (Math.ceil(Math.log2(leaves.length)) - 1)
  return nodeHash(naiveRoot(leaves.slice(0, left)), naiveRoot(leaves.slice(left)))
}

const hashesOf = (leaves: readonly Buffer[]): Hashes => ({
  hash: (level, index) => naiveRoot(leaves.slice(index * 2 ** level, (index + 1) * 2 ** level)),
})

const hexOf = (hashes: readonly Buffer[]) => hashes.map((hash) => hash.toString('hex'))

/** Forged proofs: one hash altered, omitted, duplicated or added. */
const spoilt = (proof: readonly Buffer[], at: number): Buffer[][] => [
  proof.map((hash, position) => (position === at % proof.length ? leafHash(hash) : hash)),
  proof.filter((_, position) => position !== at % proof.length),
  [...proof, EMPTY_ROOT],
  [EMPTY_ROOT, ...proof],
]

describe(`Merkle trees (${TITLE})`, () => {
  const leaves = INPUTS.map((hex) => leafHash(Buffer.from(hex, 'hex')))

  it('have the roots and proofs of RFC 6962 [PROOF-1]', () => {
    const appender = appenderFrom()
    const roots = [appender.root(), ...leaves.map((leaf) => appender.append(leaf) && appender.root())]
    expect(hexOf(roots)).to.deep.equal(ROOTS)
    expect(hexOf(ROOTS.map((_, size) => computeRoot(hashesOf(leaves), size)))).to.deep.equal(ROOTS)
    expect(hexOf(inclusionProof(hashesOf(leaves), 0, 8))).to.deep.equal(PATH_OF_FIRST_IN_8)
    expect(hexOf(consistencyProof(hashesOf(leaves), 6, 8))).to.deep.equal(FROM_6_TO_8)
  })

  it('prove inclusion of a leaf, and nothing else [PROOF-1]', () =>
    explore(
      fc.property(fc.integer({ min: 1, max: 70 }), fc.nat(), fc.nat(), (size, draw, at) => {
        const leaves = leavesOf(size)
        const index = draw % size
        const leaf = leaves[index] as Buffer
        const proof = inclusionProof(hashesOf(leaves), index, size)
        const root = naiveRoot(leaves)
        expect(isIncluded(leaf, { index, size, root }, proof)).to.equal(true)
        for (const other of spoilt(proof, at)) {
          if (proof.length > 0 || other.length > 0)
            expect(isIncluded(leaf, { index, size, root }, other)).to.equal(false)
        }
        expect(isIncluded(leafHash(leaf), { index, size, root }, proof)).to.equal(false)
        for (const elsewhere of [-1, index - 1, index + 1, size, Number.NaN]) {
          expect(isIncluded(leaf, { index: elsewhere, size, root }, proof)).to.equal(false)
        }
      }),
      60,
    ))

  it('prove consistency with an earlier tree, and nothing else [PROOF-1]', () =>
    explore(
      fc.property(fc.integer({ min: 0, max: 70 }), fc.nat(), fc.nat(), (size, draw, at) => {
        const leaves = leavesOf(size)
        const from = { size: draw % (size + 1), root: naiveRoot(leaves.slice(0, draw % (size + 1))) }
        const to = { size, root: naiveRoot(leaves) }
        const proof = consistencyProof(hashesOf(leaves), from.size, size)
        expect(isConsistent(from, to, proof)).to.equal(true)
        for (const other of proof.length > 0 ? spoilt(proof, at) : [[EMPTY_ROOT]]) {
          expect(isConsistent(from, to, other)).to.equal(false)
        }
        expect(isConsistent({ ...from, root: leafHash(from.root) }, to, proof)).to.equal(false)
        if (from.size > 0) expect(isConsistent(from, { ...to, root: leafHash(to.root) }, proof)).to.equal(false)
        expect(isConsistent({ ...from, size: size + 1 }, to, proof)).to.equal(false)
      }),
      60,
      1,
    ))

  it('grow from any size, and emit each complete subtree once [PROOF-1]', () =>
    explore(
      fc.property(fc.nat({ max: 40 }), fc.nat({ max: 40 }), (before, more) => {
        const leaves = leavesOf(before + more)
        const appender = appenderFrom(hashesOf(leaves), before)
        const nodes = leaves.slice(before).flatMap((leaf) => appender.append(leaf))
        expect(appender.root().equals(naiveRoot(leaves))).to.equal(true)
        expect(appender.size).to.equal(leaves.length)
        for (const { level, index, hash } of nodes)
          expect(hash.equals(hashesOf(leaves).hash(level, index))).to.equal(true)
        const places = new Set(nodes.map(({ level, index }) => `${level}/${index}`))
        const levels = Array.from({ length: 8 }, (_, level) => 2 ** level)
        const complete = levels.reduce(
          (sum, width) => sum + Math.floor(leaves.length / width) - Math.floor(before / width),
          0,
        )
        expect([places.size, nodes.length]).to.deep.equal([complete, complete])
      }),
      60,
      2,
    ))
})
