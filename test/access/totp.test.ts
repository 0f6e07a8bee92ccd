import { expect } from 'chai'
import { Secret, TOTP } from 'otpauth'
import { createTotpSecret, isTotpSecret, recoveryCodeHash, stepOfTotp, totpUri } from '#access/second-factors.ts'

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
