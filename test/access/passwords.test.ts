import { expect } from 'chai'
import { hashPassword, Password, verifyPassword } from '#access/passwords.ts'

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
