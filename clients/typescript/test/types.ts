/** Compiled, never run: valid code, and code that the compiler must reject. */
import { createClient, ok, type Problem, type Schema } from '../src/index.ts'
import type { Delivery } from '../src/webhooks.ts'

const client = createClient({ baseUrl: 'http://localhost', key: 'tb_live_x' })

export async function typedCalls(): Promise<void> {
  const input: Schema<'SaleInput'> = { items: [{ catalog_item_id: 1, quantity: '2' }], payments: [] }
  const { data, error } = await client.POST('/sales', { body: input })
  // Fields with a default are optional.
  ;({ name: 'Café', price: '18.90' }) satisfies Schema<'CatalogItemInput'>
  // Money is text.
  if (data) data.data.total satisfies string
  // Exactly the error codes of this operation.
  if (error) {
    error.error.code satisfies
      | 'malformed_json'
      | 'missing_token'
      | 'invalid_token'
      | 'plan_required'
      | 'insufficient_scope'
      | 'request_timeout'
      | 'duplicate_resource'
      | 'idempotency_key_reuse'
      | 'person_forgotten'
      | 'payload_too_large'
      | 'unsupported_media_type'
      | 'validation_failed'
      | 'insufficient_stock'
      | 'payment_mismatch'
      | 'rate_limited'
      | 'internal_error'
      | 'unavailable'
    if (error.error.code === 'insufficient_stock') error.error.details satisfies object
  }
  // @ts-expect-error: numbers would lose cents
  await client.POST('/sales', { body: { items: [{ catalog_item_id: 1, quantity: 2 }], payments: [] } })
  // @ts-expect-error: there is no such path
  await client.GET('/sale')
}

export async function typedAnswers(): Promise<void> {
  const { data } = await ok(client.GET('/customers/{id}', { params: { path: { id: 7 } } }))
  data satisfies Schema<'Customer'>
  const nothing: undefined = await ok(client.DELETE('/customers/{id}', { params: { path: { id: 7 } } }))
  const codes: Problem<'/me', 'get'>['code'][] = ['missing_token', 'rate_limited']
  // @ts-expect-error: only sales are refused with it
  codes.push('insufficient_stock')
  void nothing
}

export function typedDeliveries({ payload }: Delivery): void {
  if (payload.event === 'sale.completed') payload.data satisfies Schema<'Sale'>
}

export async function typedPages(): Promise<void> {
  for await (const page of client.pages('/sales', { params: { query: { status: 'completed' } } }))
    page.data satisfies readonly Schema<'Sale'>[]
  for await (const page of client.pages('/customers/{id}/history', { params: { path: { id: 7 } } }))
    page.meta.synced_at satisfies string
  // @ts-expect-error: this is one record
  client.pages('/sales/{id}')
  // @ts-expect-error: no such filter
  client.pages('/sales', { params: { query: { colour: 'red' } } })
}

export async function typedChanges(): Promise<void> {
  for await (const changes of client.changes({ resources: ['/customers', '/sales'] }))
    if (changes.resource === '/customers') changes.records satisfies readonly Schema<'Customer'>[]
}

export async function typedBodies<B extends Schema<'CustomerInput'>>(generic: B): Promise<void> {
  await client.POST('/customers', { body: { name: 'Maria' } })
  const input: Schema<'CustomerInput'> = { name: 'Maria', address: { city: 'Recife' } }
  await client.POST('/customers', { body: input })
  await client.POST('/customers/batch', { body: { items: [{ external_id: 'a', name: 'Maria' }] } })
  await client.PATCH('/customers/{id}', { params: { path: { id: 7 } }, body: { name: 'Maria', address: null } })
  await client.DELETE('/customers/{id}', { params: { path: { id: 7 } } })
  // @ts-expect-error: no such field
  await client.POST('/customers', { body: { name: 'Maria', nam: 'Mario' } })
  // @ts-expect-error: a name is required
  await client.POST('/customers', { body: { document: '52998224725' } })
  // @ts-expect-error: no such field in the address
  await client.POST('/customers', { body: { name: 'Maria', address: { town: 'Recife' } } })
  // @ts-expect-error: no such field in an item of the list
  await client.POST('/customers/batch', { body: { items: [{ external_id: 'a', name: 'Maria', nam: 'Mario' }] } })
  // @ts-expect-error: no such field of changes
  await client.PATCH('/customers/{id}', { params: { path: { id: 7 } }, body: { nam: 'Mario' } })
  const params = { path: { external_id: 'a' } }
  // @ts-expect-error: no such field of a replacement
  await client.PUT('/customers/by-external/{external_id}', { params, body: { name: 'Maria', nam: 'Mario' } })
  const wide = { name: 'Maria', nam: 'Mario' }
  // @ts-expect-error: a variable is checked too
  await client.POST('/customers', { body: wide })
  // @ts-expect-error: a type parameter may have further fields
  await client.POST('/customers', { body: generic })
}
