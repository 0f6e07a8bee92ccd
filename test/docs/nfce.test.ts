import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { FISCAL_CODES } from '#domain/fiscal-values.ts'
import type { Json } from '../support/api.ts'
import { useCompany } from '../support/use-api.ts'

const GUIDE = readFileSync('docs/guias/nfce.md', 'utf8')

interface Schema {
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
}

const { schemas } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')).components as {
  readonly schemas: Readonly<Record<string, Schema>>
}

const resolved = (schema: Schema): Schema => {
  const [first] = schema.anyOf ?? schema.oneOf ?? []
  if (first) return resolved(first)
  return schema.$ref ? (schemas[schema.$ref.split('/').at(-1) ?? ''] as Schema) : schema
}

/** Members of the lists of a sale, as in `payments[].card.brand`. */
const PATHS = [...GUIDE.matchAll(/`((?:items|payments)\[\]\.[a-z_.]+)`/g)].map(([, path = '']) => path)

describe('guide from a sale to an NFC-e', () => {
  const { company } = useCompany()

  it('names fields that a sale has', () => {
    expect(PATHS).to.have.length.above(20)
    for (const path of PATHS) {
      let at: Schema | undefined = resolved(schemas.Sale as Schema)
      for (const name of path.split('.')) {
        const member: Schema | undefined = at?.properties?.[name.replace('[]', '')]
        at = member && resolved(name.endsWith('[]') ? (resolved(member).items as Schema) : member)
      }
      expect(at, path).not.to.equal(undefined)
    }
  })

  it('names every fiscal code of an item and every detail of a card', () => {
    for (const code of FISCAL_CODES) expect(PATHS).to.include(`items[].${code}`)
    const { card } = resolved(schemas.SalePayment as Schema).properties ?? {}
    for (const name of Object.keys(resolved(card as Schema).properties ?? {}))
      expect(PATHS).to.include(`payments[].card.${name}`)
  })

  it('shows what the service answers to its item and its sale [SALE-23] [SALE-24]', async () => {
    const [item, sale, line] = [...GUIDE.matchAll(/^```json\n(.*?)^```/gms)].map(([, text = '']) => JSON.parse(text))
    expect((await company.post('/catalog/items', item)).status).to.equal(201)
    const card = await company.paymentType('card')
    const payments = sale.payments.map((payment: Json) => ({ ...payment, payment_type_id: card }))
    const reply = await company.post('/sales', { ...sale, payments })
    expect(reply.status, reply.text).to.equal(201)
    expect(reply.body.data.items[0]).to.include(line)
    expect(reply.body.data.payments[0].card).to.deep.equal(sale.payments[0].card)
  })
})
