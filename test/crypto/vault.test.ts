import { expect } from 'chai'
import { createVault, sealedBy, toMasterKey, UnknownMasterKey } from '#crypto/vault.ts'

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
    expect(sealedBy(sealed))
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
    expect(sealedBy(both.seal(plain, ''))).to.equal(second.id)
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
