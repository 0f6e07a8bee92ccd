import type { Case, Cases } from './case.ts'

const call =
  (body?: object): Case =>
  ({ tester: { key } }) => ({ key, ...(body && { body }) })

/** With a key that the test company used for another request. */
const reused =
  (body?: object): Case =>
  async ({ tester, unique }) => {
    const headers = { 'idempotency-key': unique('key') }
    await tester.post('/catalog/categories', { name: unique('Outra') }, headers)
    return { key: tester.key, headers, ...(body && { body }) }
  }

const days = { advance_days: 1 }

export const testCompanyCases: Cases = {
  getTestClock: { 200: call() },
  moveTestClock: { 200: call(days), idempotency_key_reuse: reused(days) },
  resetTestCompany: { 200: call(), idempotency_key_reuse: reused() },
}
