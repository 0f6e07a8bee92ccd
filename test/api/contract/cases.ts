import { auditCases } from './audit-cases.ts'
import type { Cases } from './case.ts'
import { cashCases } from './cash-cases.ts'
import { catalogCases } from './catalog-cases.ts'
import { financeCases } from './finance-cases.ts'
import { orderCases } from './order-cases.ts'
import { personCases } from './person-cases.ts'
import { saleCases } from './sale-cases.ts'
import { stockCases } from './stock-cases.ts'
import { testCompanyCases } from './test-company-cases.ts'
import { webhookCases } from './webhook-cases.ts'

/** All cases; each resource adds its own. */
export const CASES: Cases = {
  getMe: { 200: () => ({}) },
  ...catalogCases,
  ...personCases,
  ...financeCases,
  ...saleCases,
  ...stockCases,
  ...cashCases,
  ...orderCases,
  ...webhookCases,
  ...auditCases,
  ...testCompanyCases,
}
