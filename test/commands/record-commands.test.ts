import { expect } from 'chai'
import type { ZodType } from 'zod'
import { CategoryChanges, CreateCategoryInput, ReplaceCategoryInput } from '#commands/catalog-commands.ts'
import { CreateItemInput, ReplaceItemInput } from '#commands/item-commands.ts'
import { OrderInput } from '#commands/order-commands.ts'
import {
  CreateCustomerInput,
  CreateSupplierInput,
  CustomerChanges,
  ReplaceCustomerInput,
  ReplaceSupplierInput,
  SupplierChanges,
} from '#commands/person-commands.ts'
import {
  CreatePayableInput,
  CreateReceivableInput,
  PayableChanges,
  ReceivableChanges,
  ReplacePayableInput,
  ReplaceReceivableInput,
} from '#commands/receivables-payables.ts'
import { atExternalId, ItemChanges } from '#commands/record-commands.ts'
import { describeIssues, refuse } from '#domain/refusals.ts'

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

  it('refuses "." and ".." in the path [REC-7]', () => {
    for (const external_id of ['.', '..'])
      expect(atExternalId(external_id, body())).to.deep.equal(
        refusal('não pode ser "." nem "..", que não cabem em um endereço'),
      )
  })
})

describe('external id of a record that is written', () => {
  const person = { name: 'Ana' }
  const account = { description: 'Aluguel', amount: '100.00', due_date: '2026-03-10' }
  const item = { name: 'Café', price: '10.00' }
  const order = {
    store_alias: 'loja',
    customer: person,
    items: [{ description: 'Bolo', quantity: '1', unit_price: '1.00' }],
  }

  for (const [record, input, fields] of [
    ['new customer', CreateCustomerInput, person],
    ['replaced customer', ReplaceCustomerInput, person],
    ['changed customer', CustomerChanges, {}],
    ['new supplier', CreateSupplierInput, person],
    ['replaced supplier', ReplaceSupplierInput, person],
    ['changed supplier', SupplierChanges, {}],
    ['new catalog item', CreateItemInput, item],
    ['replaced catalog item', ReplaceItemInput, item],
    ['changed catalog item', ItemChanges, {}],
    ['new category', CreateCategoryInput, person],
    ['replaced category', ReplaceCategoryInput, person],
    ['changed category', CategoryChanges, {}],
    ['new receivable', CreateReceivableInput, account],
    ['replaced receivable', ReplaceReceivableInput, account],
    ['changed receivable', ReceivableChanges, {}],
    ['new payable', CreatePayableInput, account],
    ['replaced payable', ReplacePayableInput, account],
    ['changed payable', PayableChanges, {}],
    ['new order', OrderInput, order],
  ] as readonly [string, ZodType, object][])
    it(`is neither "." nor ".." and has no control character, of a ${record} [REC-7]`, () => {
      for (const external_id of ['.', '..']) {
        const { error } = input.safeParse({ ...fields, external_id })
        expect(Object.keys(describeIssues(error!).fields)).to.deep.equal(['external_id'])
      }
      for (const external_id of ['a\tb', 'a\nb', 'a\u007fb', 'a\u0085b']) {
        const { error } = input.safeParse({ ...fields, external_id })
        expect(Object.keys(describeIssues(error!).fields)).to.deep.equal(['external_id'])
      }
      for (const external_id of ['...', '.a'])
        expect(input.safeParse({ ...fields, external_id }).success).to.equal(true)
    })
})
