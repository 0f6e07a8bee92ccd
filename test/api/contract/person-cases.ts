import { personExample, supplierExample } from '#api/v1/people.ts'
import type { Cases } from './case.ts'
import { recordCases } from './record-cases.ts'

export const personCases: Cases = {
  ...recordCases({
    path: '/customers',
    names: ['Customer', 'Customers'],
    fresh: (world) => ({ ...personExample, external_id: undefined, name: world.unique('Ana') }),
    changes: { phone: null, notes: 'Prefere contato por e-mail' },
    unique: 'name',
  }),
  ...recordCases({
    path: '/suppliers',
    names: ['Supplier', 'Suppliers'],
    fresh: (world) => ({ ...supplierExample, external_id: undefined, name: world.unique('Atacado') }),
    changes: { phone: null, trade_name: 'Bom Grão' },
    unique: 'name',
  }),
}
