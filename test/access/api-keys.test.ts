import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { hashKey, isKey, KEY_BYTES, newKey } from '#access/api-authenticator.ts'

const random = Buffer.from(Array.from({ length: KEY_BYTES }, (_, index) => 255 - index))

describe('API keys', () => {
  it('encode 256 random bits without loss [KEY-3]', () => {
    const { key } = newKey(random)
    expect(key).to.match(/^tb_live_[A-Za-z0-9_-]{43}$/)
    expect(Buffer.from(key.slice('tb_live_'.length), 'base64url').equals(random)).to.equal(true)
  })

  it('show whether they belong to demonstration data', () => {
    expect(newKey(random, 'test').key).to.match(/^tb_test_/)
  })

  it('are recognised by their first 12 characters', () => {
    const { key, prefix } = newKey(random)
    expect(prefix).to.have.length(12)
    expect(key.startsWith(prefix)).to.equal(true)
  })

  it('are found by their SHA-256 [KEY-3]', () => {
    const { key, hash } = newKey(random)
    expect(hash.toString('hex')).to.equal(createHash('sha256').update(key).digest('hex'))
    expect(hashKey(key).equals(hash)).to.equal(true)
  })

  it('cannot be created from less randomness', () => {
    expect(() => newKey(random.subarray(1))).to.throw(RangeError)
  })

  it('are recognised by their format', () => {
    const { key } = newKey(random)
    expect(isKey(key)).to.equal(true)
    for (const text of [
      '',
      'tb_live_',
      key.slice(0, -1),
      `${key}A`,
      ` ${key}`,
      `${key}\n`,
      key.replace('live', 'prod'),
    ]) {
      expect(isKey(text), JSON.stringify(text)).to.equal(false)
    }
  })
})
