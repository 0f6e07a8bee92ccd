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
  it('uses the external id of the path', () => {
    expect(atExternalId('a/1', body())).to.deep.equal({ name: 'Ana', external_id: 'a/1' })
  })

  it('accepts the same id in the body', () => {
    expect(atExternalId('a', body({ external_id: 'a' }))).to.deep.equal({ name: 'Ana', external_id: 'a' })
  })

  it('treats null in the body as absent', () => {
    expect(atExternalId('a', body({ external_id: null }))).to.deep.equal({ name: 'Ana', external_id: 'a' })
  })

  it('refuses a different id in the body', () => {
    for (const external_id of ['b', 'A']) {
      expect(atExternalId('a', body({ external_id }))).to.deep.equal(refusal('deve ser igual ao do endereço'))
    }
  })

  it('refuses an invalid external id in the path', () => {
    expect(atExternalId(' a', body())).to.deep.equal(refusal('não pode começar nem terminar com espaços'))
    expect(atExternalId('x'.repeat(101), body())).to.deep.equal(refusal('deve ter no máximo 100 caracteres'))
  })
})
