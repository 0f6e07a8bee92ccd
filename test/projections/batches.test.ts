import { expect } from 'chai'
import type { Pool } from 'pg'
import { event } from '#events/catalogue.ts'
import type { Envelope } from '#ledger/envelope.ts'
import { replay } from '#ledger/rebuild/replay.ts'
import { transactionOn } from '#ledger/transaction.ts'
import { createPool } from '#postgres/pool.ts'
import { readModel } from '#projections/index.ts'
import { useDatabase } from '../support/database.ts'
import {
  attemptId,
  categoryCreated,
  commissionSplit,
  companyRegistered,
  customerCreated,
  fiscalDocument,
  itemCreated,
  noCustomer,
  noDetails,
  noSupplier,
  offlineSaleCancelled,
  offlineSaleCompleted,
  orderPlaced,
  payableCreated,
  paymentRecorded,
  paymentStarted,
  paymentTypeCreated,
  plainAccount,
  plainItem,
  receivableCreated,
  saleCompleted,
  settlement,
  stockCounted,
  storeCreated,
  supplierCreated,
  userCreated,
  userInvited,
  webhookRegistered,
} from '../support/facts.ts'
import { COMPANY_ID, from, ledgerOf } from '../support/given.ts'
import { openShop } from '../support/shop.ts'

const line = {
  catalog_item_id: 3,
  external_id: null,
  description: 'Café',
  quantity: '2.000',
  unit_price: '5.00',
  total: '10.00',
  moves_stock: true,
}

/** Every type of event at least once, with names that change hands. */
const ledger = ledgerOf(
  companyRegistered(),
  event('CompanyUpdated', { id: COMPANY_ID, changes: { name: 'Padaria Nova' } }),
  event('CompanyClockCorrected', { id: COMPANY_ID, ahead_until: '2036-03-10T15:00:00.000Z' }),
  userCreated({ id: 1, role: 'owner' }),
  userCreated({ id: 2, email: 'bia@loja.example' }),
  event('UserUpdated', { id: 2, changes: { name: 'Beatriz', role: 'owner' } }),
  event('UserPasswordChanged', { id: 1 }),
  event('UserDeactivated', { id: 1 }),
  event('UserReactivated', { id: 1 }),
  userInvited({ id: 3, email: 'caio@loja.example' }),
  event('UserInvitationCancelled', { id: 3 }),
  event('UserInvitationRenewed', { id: 3 }),
  event('UserJoined', { id: 3 }),
  event('ApiKeyCreated', { id: 1, name: 'ERP', prefix: 'tb_live_abc', scopes: ['sales:read'], expires_at: null }),
  event('ApiKeyRevoked', { id: 1 }),
  paymentTypeCreated(),
  paymentTypeCreated({ id: 2, name: 'DINHEIRO' }),
  event('PaymentTypeUpdated', { id: 1, changes: { name: 'Espécie' } }),
  customerCreated({ id: 1, external_id: 'a', name: 'Ana' }),
  customerCreated({ id: 2, external_id: 'b', name: 'Bia' }),
  event('CustomerUpdated', { id: 1, changes: { name: 'Carla' } }),
  event('CustomerUpdated', { id: 2, changes: { name: 'Ana' } }),
  event('CustomerDeleted', { id: 1 }),
  event('CustomerRevived', { id: 1, ...noDetails, external_id: 'a', name: 'Bia' }),
  supplierCreated({ id: 1, external_id: 'a', name: 'Moinho' }),
  supplierCreated({ id: 2, external_id: 'b', name: 'Granja' }),
  event('SupplierUpdated', { id: 1, changes: { name: 'Horta', trade_name: 'H' } }),
  event('SupplierDeleted', { id: 2 }),
  event('SupplierRevived', { id: 2, ...noDetails, external_id: 'b', name: 'Moinho', trade_name: null }),
  categoryCreated({ id: 5 }),
  categoryCreated({ id: 6, external_id: 'b', name: 'BEBIDAS' }),
  event('CategoryUpdated', { id: 5, changes: { name: 'Sucos' } }),
  event('CategoryDeleted', { id: 6 }),
  event('CategoryRevived', { id: 6, external_id: 'b', name: 'Bebidas' }),
  itemCreated({ id: 3, external_id: 'c', category_id: 5, barcode: '789', stock: '5.000' }),
  event('CatalogItemUpdated', { id: 3, changes: { price: '11.00', barcode: '790' } }),
  stockCounted(3, '5.000', '9.000'),
  from('pdv', saleCompleted({ id: 8, external_id: 'x', items: [line, line] })),
  event('CatalogItemDeactivated', { id: 3 }),
  event('SaleCancelled', { id: 8, reason: null, restock: [{ catalog_item_id: 3, quantity: '2.000' }] }),
  event('CatalogItemRevived', { id: 3, ...plainItem, external_id: 'c', barcode: '789', name: 'Café', price: '1.00' }),
  saleCompleted({ id: 9 }),
  receivableCreated({ id: 4, origin: 'sale', sale_id: 8, external_id: 'a' }),
  receivableCreated({ id: 5, customer_id: 1, customer_external_id: 'a', customer_name: 'Bia' }),
  event('ReceivableUpdated', { id: 4, changes: { amount: '9.00', external_id: null } }),
  event('ReceivableDeleted', { id: 4 }),
  event('ReceivableRevived', { id: 4, ...plainAccount, ...noCustomer, external_id: 'a' }),
  event('ReceivableSettled', { id: 5, ...settlement }),
  payableCreated({ id: 4, external_id: 'a' }),
  payableCreated({ id: 5, supplier_id: 1, supplier_external_id: 'a', supplier_name: 'Horta' }),
  event('PayableUpdated', { id: 4, changes: { due_date: '2026-04-01' } }),
  event('PayableDeleted', { id: 4 }),
  event('PayableRevived', { id: 4, ...plainAccount, ...noSupplier, external_id: 'a' }),
  event('PayableSettled', { id: 5, ...settlement }),
  webhookRegistered({ id: 1 }),
  webhookRegistered({ id: 2, events: ['*'] }),
  event('WebhookUpdated', { id: 1, changes: { url: 'https://erp.example/outro' } }),
  event('WebhookSwitchedOff', { id: 1, reason: 'no_response' }),
  event('WebhookEnabled', { id: 1 }),
  event('WebhookHandedOver', { id: 1, api_key_id: 1 }),
  event('WebhookSecretRotated', { id: 1, overlap_ends_at: null }),
  event('WebhookDeleted', { id: 2 }),
  from('pdv', offlineSaleCompleted({ id: 10, items: [line], receivable_ids: [6] })),
  from('pdv', receivableCreated({ id: 6, origin: 'sale', sale_id: 10 })),
  from('pdv', offlineSaleCancelled({ id: 11, offline_id: 'pdv-2' })),
  event('FiscalDocumentAuthorized', { id: 9, number: '1', issued_at: '2026-03-10T15:00:00.000Z' }),
  event('FiscalDocumentRecorded', { id: 9, ...fiscalDocument }),
  storeCreated(),
  event('StoreUpdated', { id: 1, changes: { commission_percentage: '6.00' } }),
  event('StoreSecretsReplaced', { id: 1, secrets: ['access_token'] }),
  event('StoreDisabled', { id: 1 }),
  event('StoreEnabled', { id: 1 }),
  orderPlaced({ external_id: 'a' }),
  paymentStarted(1, { idempotency_key: 'k' }),
  event('PaymentRefused', { id: 1, attempt_id: attemptId(1), reason: 'token' }),
  paymentStarted(2, { idempotency_key: 'k' }),
  paymentRecorded(2, { provider_status: 'approved', status: 'paid' }),
  event('OrderPaid', { id: 1, provider_payment_id: 'p2' }),
  commissionSplit(2),
  event('OrderAlarmRaised', { id: 1, provider_payment_id: 'p3', code: 'second_payment' }),
  event('OrderRefunded', { id: 1, provider_payment_id: 'p2' }),
  event('CommissionReversed', { id: 1, provider_payment_id: 'p2' }),
  orderPlaced({ id: 2 }),
  event('OrderFailed', { id: 2, provider_payment_id: 'p4' }),
  event('OrderCancelled', { id: 2, provider_payment_id: 'p5' }),
  event('OrderPending', { id: 2, provider_payment_id: 'p6' }),
  event('OrderCancelledByStore', { id: 2, reason: 'Desistência' }),
)

/** The tables of the company after its ledger was replayed in pieces of a size; nothing of it stays. */
async function tablesAfter(pool: Pool, size: number): Promise<Record<string, string>> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const tables = readModel.projections.flatMap((projection) => projection.tables)
    await client.query(`truncate ${tables.map(({ name }) => name).join(', ')}`)
    for (let start = 0; start < ledger.length; start += size) {
      const piece = ledger.slice(start, start + size)
      await replay(transactionOn(client), readModel, COMPANY_ID, stream(piece), ledger.length)
    }
    const dumps: Record<string, string> = {}
    for (const { name, keys } of tables) {
      const { rows } = await client.query(`select t::text as line from ${name} t order by ${keys.pk.join(', ')}`)
      dumps[name] = rows.map(({ line: text }) => text).join('\n')
    }
    return dumps
  } finally {
    await client.query('rollback')
    client.release()
  }
}

async function* stream(events: readonly Envelope[]): AsyncIterable<Envelope> {
  yield* events
}

describe('read model', () => {
  const database = useDatabase()
  let pool: Pool
  before(async () => {
    const shop = await openShop(database.url)
    await shop.core.close()
    pool = createPool(database.url, { max: 1, pipeline: true })
  })
  after(() => pool.end())

  it('is tested with every type of event that a projection handles', () => {
    const handled = new Set(readModel.projections.flatMap((projection) => Object.keys(projection.on)))
    expect([...new Set(ledger.map(({ type }) => type))]).to.have.members([...handled])
  })

  it('is the same, byte for byte, however the ledger is cut: each event names all rows that it works on [LEDGER-10]', async () => {
    const atOnce = await tablesAfter(pool, ledger.length)
    for (const [name, dump] of Object.entries(atOnce)) expect(dump, name).not.to.equal('')
    for (const size of [1, 2, 5]) expect(await tablesAfter(pool, size), `in pieces of ${size}`).to.deep.equal(atOnce)
  })
})
