import { payableExample, receivableExample } from '#api/v1/account-routes.ts'
import { accountOfSale, SIDES, type Side } from '../../support/accounts.ts'
import type { Case, Cases } from './case.ts'
import { recordCases } from './record-cases.ts'
import type { World } from './world.ts'

const settlement = { payment_method: 'pix' }

function accountCases(side: Side, names: readonly [one: string, many: string], example: object): Cases {
  const { path, party, parties } = side
  const [one, many] = names
  const fresh = () => ({ ...example, external_id: undefined, [`${party}_external_id`]: undefined })
  const create = (world: World) => world.create(path, { ...fresh(), external_id: world.unique('conta') })
  const settled = async (world: World) => {
    const account = await create(world)
    const headers = { 'idempotency-key': world.unique('key') }
    await world.company.post(`${path}/${account.id}/settle`, settlement, headers)
    return account
  }
  const part = { amount: '1.00' }
  const pay = async (world: World, { id }: { id: number }) => {
    const headers = { 'idempotency-key': world.unique('key') }
    return (await world.company.post(`${path}/${id}/payments`, part, headers)).body.data
  }
  /** A partly paid account, and its payment. */
  const partly = async (world: World) => {
    const { id, payments } = await pay(world, await create(world))
    return { id, payment_id: payments[0].id as number }
  }
  const reversed = async (world: World) => {
    const paid = await partly(world)
    await world.company.post(`${path}/${paid.id}/payments/${paid.payment_id}/reverse`, { reason: 'engano' })
    return paid
  }
  const ofSale = (world: World) => accountOfSale(world.company, side, { external_id: world.unique('venda') })
  /** Call about a locked account, by its id. */
  const locked = (body?: object): Record<string, Case> => ({
    managed_by_pdv: async (world) => ({ params: { id: (await ofSale(world)).id }, body }),
    already_settled: async (world) => ({ params: { id: (await settled(world)).id }, body }),
  })
  const key = (world: World) => ({ 'idempotency-key': world.unique('key') })
  const settling = (target: (world: World) => Promise<{ id: number }>): Case => {
    return async (world) => ({ params: { id: (await target(world)).id }, body: settlement, headers: key(world) })
  }
  const paying = (target: (world: World) => Promise<{ id: number }>): Case => {
    return async (world) => ({ params: { id: (await target(world)).id }, body: part, headers: key(world) })
  }
  const reversing = (target: (world: World) => Promise<{ id: number; payment_id?: number }>): Case => {
    return async (world) => {
      const { id, payment_id = 1 } = await target(world)
      return { params: { id, payment_id }, body: { reason: 'engano' } }
    }
  }
  const common = recordCases({
    path,
    names,
    fresh,
    changes: { amount: '1.00', [`${party}_id`]: null },
    unique: 'external_id',
  })
  const { duplicate_resource: _, ...replace } = common[`replace${one}ByExternalId`] ?? {}
  const { 'item:duplicate_resource': __, ...batch } = common[`batch${many}`] ?? {}
  const ofForgotten = async (world: World) => ({ ...fresh(), [`${party}_id`]: (await world.forgotten(parties)).id })
  const changed = () => ({ ...fresh(), amount: '1.00' })
  const item = async ({ external_id }: { external_id: string }) => ({
    body: { items: [{ ...changed(), external_id }] },
  })
  const at = ({ external_id }: { external_id: string }) => ({ params: { external_id }, body: changed() })
  return {
    ...common,
    [`list${many}`]: {
      200: async (world) => {
        const external_id = world.unique('parte')
        await world.create(parties, { name: external_id, external_id })
        await world.create(path, { ...fresh(), due_date: '2020-01-31', [`${party}_external_id`]: external_id })
        await settled(world)
        return { query: { limit: '10', origin: 'api', due_from: '2020-01-01' } }
      },
    },
    [`batch${many}`]: {
      ...batch,
      'item:person_forgotten': async (world) => ({
        body: { items: [{ ...(await ofForgotten(world)), external_id: world.unique('conta') }] },
      }),
      'item:amount_limit': async (world) => ({
        ...(await item({ external_id: world.unique('conta') })),
        key: await world.poorKey(),
      }),
      'item:managed_by_pdv': async (world) => item(await ofSale(world)),
      'item:already_settled': async (world) => item(await settled(world)),
    },
    [`replace${one}ByExternalId`]: {
      ...replace,
      amount_limit: async (world) => ({
        params: { external_id: world.unique('conta') },
        body: fresh(),
        key: await world.poorKey(),
      }),
      person_forgotten: async (world) => ({
        params: { external_id: world.unique('conta') },
        body: await ofForgotten(world),
      }),
      managed_by_pdv: async (world) => at(await ofSale(world)),
      already_settled: async (world) => at(await settled(world)),
    },
    [`create${one}`]: {
      ...common[`create${one}`],
      person_forgotten: async (world) => ({ body: await ofForgotten(world) }),
    },
    [`update${one}`]: {
      ...common[`update${one}`],
      ...locked({ amount: '1.00' }),
      person_forgotten: async (world) => ({
        params: { id: (await create(world)).id },
        body: { [`${party}_id`]: (await world.forgotten(parties)).id },
      }),
    },
    [`delete${one}`]: {
      ...common[`delete${one}`],
      ...locked(),
      has_payments: async (world) => ({ params: { id: (await partly(world)).id } }),
    },
    [`settle${one}`]: {
      200: settling(create),
      managed_by_pdv: settling(ofSale),
      already_settled: settling(settled),
    },
    [`pay${one}`]: { 201: paying(create), managed_by_pdv: paying(ofSale), already_settled: paying(settled) },
    [`reverse${one}Payment`]: {
      200: reversing(partly),
      managed_by_pdv: reversing(ofSale),
      already_reversed: reversing(reversed),
    },
  }
}

const [receivables, payables] = SIDES

export const financeCases: Cases = {
  ...accountCases(receivables, ['Receivable', 'Receivables'], receivableExample),
  ...accountCases(payables, ['Payable', 'Payables'], payableExample),
  getSummary: { 200: () => ({ query: { from: '2020-01-01', to: '2099-12-31' } }) },
  listPaymentMethods: { 200: () => ({ query: { limit: '2' } }) },
}
