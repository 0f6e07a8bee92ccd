import { expect } from 'chai'
import { atExternalId } from '#commands/records.ts'
import { refuse } from '#domain/refusal.ts'

const refusal = (message: string) =>
  refuse('validation_failed', { fields: { external_id: [message] }, unknown_fields: [] })

interface Body {
  name: string
  external_id?: string | null
}

const body = (fields: Partial<Body> = {}): Body => ({ name: 'Ana', ...fields })

describe('input at an external id', () => {
  it('takes the external id of the path', () => {
    expect(atExternalId('a/1', body())).to.deep.equal({ name: 'Ana', external_id: 'a/1' })
  })

  it('lets the body repeat it', () => {
    expect(atExternalId('a', body({ external_id: 'a' }))).to.deep.equal({ name: 'Ana', external_id: 'a' })
  })

  it('takes null in the body as not given', () => {
    expect(atExternalId('a', body({ external_id: null }))).to.deep.equal({ name: 'Ana', external_id: 'a' })
  })

  it('refuses another one in the body', () => {
    for (const external_id of ['b', 'A']) {
      expect(atExternalId('a', body({ external_id }))).to.deep.equal(refusal('deve ser igual ao do endereço'))
    }
  })

  it('refuses a path that is no external id', () => {
    expect(atExternalId(' a', body())).to.deep.equal(refusal('não pode começar nem terminar com espaços'))
    expect(atExternalId('x'.repeat(101), body())).to.deep.equal(refusal('deve ter no máximo 100 caracteres'))
  })
})
