import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { Secret, TOTP } from 'otpauth'
import { hashKey, isKey, KEY_BYTES, newKey } from '#access/api-authenticator.ts'
import { createAddressLimit } from '#access/login-limits.ts'
import { hashPassword, Password, verifyPassword } from '#access/passwords.ts'
import { createTotpSecret, isTotpSecret, recoveryCodeHash, stepOfTotp, totpUri } from '#access/second-factors.ts'

describe('passwords', () => {
  it('are hashed with argon2id, 19 MiB, two passes and a salt [OPS-23]', async () => {
    const [first, second] = await Promise.all([hashPassword('segredo-1'), hashPassword('segredo-1')])
    expect(first).to.match(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(first).not.to.equal(second)
  })

  it('match only their own hash', async () => {
    const hash = await hashPassword('segredo-1')
    expect(await verifyPassword(hash, 'segredo-1')).to.equal(true)
    expect(await verifyPassword(hash, 'Segredo-1')).to.equal(false)
    expect(await verifyPassword(hash, '')).to.equal(false)
  })

  it('match in any Unicode form of an accent', async () => {
    const hash = await hashPassword('p\u{e3}o-quente')
    expect(await verifyPassword(hash, 'pa\u{303}o-quente')).to.equal(true)
  })

  it('never match an unknown user', async () => {
    expect(await verifyPassword(null, 'segredo-1')).to.equal(false)
    expect(await verifyPassword(null, '')).to.equal(false)
  })

  it('have 8 to 200 characters [OPS-23]', () => {
    for (const [password, accepted] of [
      ['1234567', false],
      ['12345678', true],
      ['x'.repeat(200), true],
      ['x'.repeat(201), false],
    ] as const) {
      expect(Password.safeParse(password).success, password).to.equal(accepted)
    }
  })
})

const SECRET = Secret.fromLatin1('12345678901234567890').base32
const codeAt = (seconds: number) => TOTP.generate({ secret: Secret.fromBase32(SECRET), timestamp: seconds * 1000 })

describe('codes of authenticator apps', () => {
  it('are those of RFC 6238 [MFA-3]', () => {
    // Appendix B, last six digits.
    for (const [seconds, code] of [
      [59, '287082'],
      [1_111_111_109, '081804'],
      [20_000_000_000, '353130'],
    ] as const)
      expect(stepOfTotp(SECRET, code, seconds * 1000), code).to.equal(Math.floor(seconds / 30))
  })

  it('are accepted one step before and after the present one, with the step that they are of [MFA-3]', () => {
    const now = 1_000_000 * 30
    for (const delta of [-1, 0, 1]) {
      expect(stepOfTotp(SECRET, codeAt(now + delta * 30), now * 1000), `${delta}`).to.equal(1_000_000 + delta)
      expect(stepOfTotp(SECRET, codeAt(now + delta * 30), (now + 29) * 1000), `${delta}`).to.equal(1_000_000 + delta)
    }
    for (const delta of [-2, 2]) expect(stepOfTotp(SECRET, codeAt(now + delta * 30), now * 1000)).to.equal(null)
    for (const wrong of ['', '12345', '1234567', 'abcdef', ' 87082']) {
      expect(stepOfTotp(SECRET, wrong, 59_000), wrong).to.equal(null)
    }
  })

  it('have new secrets of 160 bits, and an address for the app', () => {
    const secret = createTotpSecret()
    expect(isTotpSecret(secret)).to.equal(true)
    expect(createTotpSecret()).not.to.equal(secret)
    for (const wrong of ['', secret.slice(1), secret.toLowerCase()]) expect(isTotpSecret(wrong), wrong).to.equal(false)
    const uri = new URL(totpUri(secret, 'ana@loja.example'))
    expect(uri.protocol).to.equal('otpauth:')
    expect(uri.searchParams.get('secret')).to.equal(secret)
    expect(uri.searchParams.get('issuer')).to.equal('Tillbook')
  })

  it('differ from recovery codes, which may be typed without hyphens, in capitals and with O for zero', () => {
    const code = '0k3x-97m2-qwd0-v81z'
    const hash = recoveryCodeHash(code)
    expect(hash).to.have.length(32)
    for (const typed of ['0k3x97m2qwd0v81z', 'OK3X-97M2-QWDO-V8IZ', ' 0k3x 97m2 qwd0 v81z '])
      expect(recoveryCodeHash(typed)?.equals(hash as Buffer), typed).to.equal(true)
    for (const wrong of ['', '123456', code.slice(1), `${code}0`, code.replace('k', 'u')])
      expect(recoveryCodeHash(wrong), wrong).to.equal(null)
  })
})

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

describe('rate limit per address', () => {
  it('counts down, then refuses until the minute is over [RATE-5]', async () => {
    const limit = createAddressLimit({ perMinute: 2 })
    const earliest = Math.ceil(Date.now() / 1000) + 60
    const answers = [
      await limit.consume('192.0.2.1'),
      await limit.consume('192.0.2.1'),
      await limit.consume('192.0.2.1'),
    ]
    expect(answers.map(({ limited, remaining }) => [limited, remaining])).to.deep.equal([
      [false, 1],
      [false, 0],
      [true, 0],
    ])
    for (const answer of answers) {
      expect(answer.limit).to.equal(2)
      expect(answer.reset).to.be.within(earliest, earliest + 5)
      expect(answer.retryAfter).to.be.within(55, 60)
    }
  })

  it('counts every address separately [RATE-5]', async () => {
    const limit = createAddressLimit({ perMinute: 1 })
    expect(await limit.consume('192.0.2.1')).to.include({ limited: false })
    expect(await limit.consume('192.0.2.2')).to.include({ limited: false })
    expect(await limit.consume('192.0.2.1')).to.include({ limited: true })
  })

  for (const [first, second, together] of [
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', true],
    ['2001:db8::1', '2001:db8:0:0:5:6:7:8', true],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['::1', '1::', false],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.2', false],
    ['::ffff:192.0.2.1', '192.0.2.1', true],
    ['192.0.2.1:4711', '192.0.2.1:4712', true],
    ['192.0.2.1:4711', '192.0.2.2:4711', false],
    ['[2001:db8:1:2::1]:4711', '2001:db8:1:2::2', true],
    ['[2001:db8:1:2::1]', '[2001:db8:1:3::1]', false],
  ] as const) {
    it(`counts ${first} and ${second} ${together ? 'together' : 'apart'}`, async () => {
      const limit = createAddressLimit({ perMinute: 1 })
      await limit.consume(first)
      expect(await limit.consume(second)).to.include({ limited: together })
    })
  }

  it('drops only the oldest address if there are too many', async () => {
    const limit = createAddressLimit({ perMinute: 1, known: 3 })
    for (const address of ['a', 'b', 'c', 'd']) await limit.consume(address)
    expect(await limit.consume('b')).to.include({ limited: true })
    expect(await limit.consume('a')).to.include({ limited: false })
  })

  it('counts concurrent requests exactly', async () => {
    const limit = createAddressLimit({ perMinute: 5 })
    const answers = await Promise.all(Array.from({ length: 9 }, () => limit.consume('192.0.2.1')))
    expect(answers.filter(({ limited }) => limited)).to.have.length(4)
  })
})
