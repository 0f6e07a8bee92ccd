import { personExample, supplierExample } from '#api/v1/person-routes.ts'
import type { Case, Cases } from './case.ts'
import { recordCases } from './record-cases.ts'
import type { World } from './world.ts'

const why = { ground: 'holder_request' }

/** Cases of erasing a person of a kind, and of calls about an erased person. */
function forgettingCases(
  kind: 'customer' | 'supplier',
  [one, many]: readonly [one: string, many: string],
  common: Cases,
): Cases {
  const path = `/${kind}s`
  const create = (world: World) => world.create(path, { name: world.unique('Eva'), external_id: world.unique('eva') })
  const forgotten = (world: World) => world.forgotten(`/${kind}s`)
  const owing = async (world: World) => {
    const person = await create(world)
    const account = { description: 'Conta', amount: '1.00', due_date: '2026-12-01', [`${kind}_id`]: person.id }
    await world.create(kind === 'customer' ? '/finance/receivables' : '/finance/payables', account)
    return person
  }
  const of =
    (person: (world: World) => Promise<{ id: number }>, body: object): Case =>
    async (world) => ({ params: { id: (await person(world)).id }, body })
  return {
    ...common,
    [`forget${one}`]: {
      200: of(create, why),
      202: of(owing, { ...why, queue: true }),
      204: of(async (world) => {
        const person = await create(world)
        await world.company.call('DELETE', `${path}/${person.id}`)
        return person
      }, why),
      retention_required: of(owing, why),
    },
    [`delete${one}`]: {
      ...common[`delete${one}`],
      open_balance: async (world) => ({ params: { id: (await owing(world)).id } }),
    },
    [`batch${many}`]: {
      ...common[`batch${many}`],
      'item:person_forgotten': async (world) => {
        const { external_id } = await forgotten(world)
        return { body: { items: [{ external_id, name: 'Eva' }] } }
      },
    },
    [`replace${one}ByExternalId`]: {
      ...common[`replace${one}ByExternalId`],
      person_forgotten: async (world) => {
        const { external_id } = await forgotten(world)
        return { params: { external_id }, body: { name: 'Eva' } }
      },
    },
    [`update${one}`]: { ...common[`update${one}`], person_forgotten: of(forgotten, { notes: null }) },
  }
}

export const personCases: Cases = {
  ...forgettingCases(
    'customer',
    ['Customer', 'Customers'],
    recordCases({
      path: '/customers',
      names: ['Customer', 'Customers'],
      fresh: (world) => ({ ...personExample, external_id: undefined, name: world.unique('Ana') }),
      changes: { phone: null, notes: 'Prefere contato por e-mail' },
      unique: 'name',
    }),
  ),
  ...forgettingCases(
    'supplier',
    ['Supplier', 'Suppliers'],
    recordCases({
      path: '/suppliers',
      names: ['Supplier', 'Suppliers'],
      fresh: (world) => ({ ...supplierExample, external_id: undefined, name: world.unique('Atacado') }),
      changes: { phone: null, trade_name: 'Bom Grão' },
      unique: 'name',
    }),
  ),
}
