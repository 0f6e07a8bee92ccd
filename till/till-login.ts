import { type Cart, emptyCart } from './cart.ts'
import { createTillKey, publicJwk } from './chain.ts'
import { newCartId, say, show, type Till } from './context.ts'
import { tryPin, withPin } from './pins.ts'
import { showReceipt } from './receipts.ts'
import { Recorder } from './recorder.ts'
import { isSale } from './records.ts'
import { callService, ServiceError } from './service-calls.ts'
import { unsentOf } from './state.ts'
import type { Device, Operator } from './stored.ts'
import { loadLists } from './sync.ts'

async function openChain(till: Till, device: Device, key: CryptoKeyPair): Promise<void> {
  const { storage, journal, store, chain } = till
  chain.key = key
  chain.recorder = await Recorder.open({ storage, journal, device, key })
  store.set({ device, records: chain.recorder.records, missingCopy: chain.recorder.missingCopy })
}

/** Reads what the device has, and goes on where it stopped. */
export async function start(till: Till): Promise<void> {
  const { storage, store, sync } = till
  const [key, device, operators, current] = await Promise.all([
    storage.get('key'),
    storage.get('device'),
    storage.get('operators'),
    storage.get('current'),
  ])
  const [config, parked, drawer, preferences, clockOffsetMs] = await Promise.all([
    storage.get('config'),
    storage.get('parked'),
    storage.get('drawer'),
    storage.get('preferences'),
    storage.get('clockOffsetMs'),
  ])
  const person = operators?.find(({ userId }) => userId === current) ?? null
  store.set({ operators: operators ?? [], current: person, config: config ?? null, parked: parked ?? [] })
  store.set({ drawer: drawer ?? null, clockOffsetMs: clockOffsetMs ?? 0, ...(preferences && { preferences }) })
  await loadLists(store, storage)
  if (device && key) await openChain(till, device, key)
  if (till.chain.recorder) void sync.run(true)
  if (!till.chain.recorder || !person) return show(till, { name: 'login', companies: [] })
  await resume(till, await storage.get('cart'), await storage.get('shown'))
  if (person.pin) show(till, { name: 'locked' })
}

/** A sale that was recorded just before the device stopped shows its receipt; one that was not goes on. */
async function resume(till: Till, cart: Cart | undefined, shown = ''): Promise<void> {
  const records = till.chain.recorder?.records ?? []
  if (cart && !records.some(({ element }) => element.offline_id.startsWith(cart.offlineId))) till.store.set({ cart })
  const last = records.filter(isSale).findLast(({ element }) => element.status === 'completed')
  if (last && last.key > shown) await showReceipt(till, last)
  else show(till, { name: 'sell' })
}

/** The device gets its number; one that was another company's begins anew, if that company has everything. */
async function register(till: Till, token: string, companyId: number): Promise<void> {
  const { storage, store } = till
  const [known, saved] = await Promise.all([storage.get('device'), storage.get('key')])
  const isOther = known !== undefined && known.companyId !== companyId
  if (isOther && unsentOf(store.get()) > 0)
    throw new ServiceError(
      409,
      'Este caixa ainda tem vendas de outra empresa para enviar. Entre nela e envie antes.',
      null,
    )
  const key = isOther || !saved ? await createTillKey() : saved
  const body = { name: 'Caixa', public_key: await publicJwk(key) }
  const { id, number, name, last_number, last_hash } = await callService<RegisteredTill>('/sync/tills', { body, token })
  if (isOther) await forget(till)
  const device = { id, number, name, companyId }
  await storage.set({ key, device })
  await openChain(till, device, key)
  await till.chain.recorder?.continueAfter(last_number ?? 0, last_hash ?? null)
}

interface RegisteredTill extends Device {
  readonly last_number?: number
  readonly last_hash?: string | null
}

/** Drops what belongs to another company. */
async function forget({ storage, journal, store }: Till): Promise<void> {
  const beginning = '1970-01-01T00:00:00.000Z'
  await storage.deleteRecords((await storage.records()).map(({ key }) => key))
  for (const { offlineId } of await storage.drafts()) await storage.deleteDraft(offlineId)
  await storage.merge('products', [], [], beginning, true)
  await storage.merge('customers', [], [], beginning, true)
  await journal.clear()
  const empty = { operators: [], parked: [], drawer: null, cart: emptyCart(newCartId()) }
  await storage.set({ ...empty, shown: '' })
  store.set(empty)
}

export async function logIn(till: Till, email: string, password: string, companyId: number | null): Promise<void> {
  const { store, sync } = till
  const known = store.get().operators.find((each) => each.email === email)
  try {
    const { data } = await callService<{
      data: { token: string; user: { id: number; name: string; company_id: number } }
    }>('/auth/login', {
      body: { email, password, ...(companyId !== null && { company_id: companyId }) },
      token: known?.token ?? null,
    })
    await register(till, data.token, data.user.company_id)
    const { id: userId, name } = data.user
    const operator: Operator = { userId, name, email, token: data.token, pin: known?.pin ?? null, wrongPins: 0 }
    await keepOperator(till, operator)
    void navigator.storage.persist().then((isPersisted) => store.set({ isPersisted }))
    // The first download is waited for: an empty list would look like an empty shop.
    if (store.get().catalog.size === 0) show(till, { name: 'starting', text: 'Baixando os produtos…' })
    await sync.run(true)
    show(till, { name: 'sell' })
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    if (error.data.companies) show(till, { name: 'login', companies: error.data.companies })
    say(till, error.message, true)
  }
}

/** Makes a person the one who sells. */
async function keepOperator({ store, storage }: Till, operator: Operator): Promise<void> {
  const others = store.get().operators.filter(({ userId }) => userId !== operator.userId)
  const operators = [...others, operator]
  await storage.set({ operators, current: operator.userId })
  store.set({ operators, current: operator })
}

export async function setPin(till: Till, pin: string): Promise<void> {
  const { current } = till.store.get()
  if (!current) return
  await keepOperator(till, await withPin(current, pin))
  say(till, 'PIN salvo neste aparelho.')
}

export async function unlock(till: Till, chosen: Operator, pin: string): Promise<void> {
  const { isRight, operator } = await tryPin(chosen, pin)
  if (isRight) {
    await keepOperator(till, operator)
    return show(till, { name: 'sell' })
  }
  const operators = till.store.get().operators.map((each) => (each.userId === operator.userId ? operator : each))
  await till.storage.set({ operators })
  till.store.set({ operators })
  say(till, 'PIN incorreto.', true)
}

/** Everything that the service does not have, as the text of a file. */
export const unsentFile = ({ store }: Till): string => {
  const { records, drafts } = store.get()
  const elements = records.filter(({ state }) => state !== 'sent').map(({ kind, element }) => ({ kind, element }))
  return JSON.stringify({ format: 'tillbook-caixa-1', elements, drafts }, null, 1)
}

/** Leaves with nothing unsent, or with what is unsent in a file; the device keeps it all the same. */
export async function leave(till: Till, isSaved = false): Promise<void> {
  const { store, storage } = till
  if (unsentOf(store.get()) > 0 && !isSaved) return show(till, { name: 'leave' })
  const { current, operators } = store.get()
  // Who leaves unsent sales behind stays their seller: their ended token is good for what the till has signed.
  const rest = operators.flatMap((each) =>
    each.userId !== current?.userId ? [each] : isSaved ? [{ ...each, pin: null }] : [],
  )
  if (current) await callService('/auth/logout', { body: {}, token: current.token }).catch(() => {})
  await storage.set({ operators: rest, current: 0 })
  store.set({ operators: rest, current: null })
  show(till, rest.some(({ pin }) => pin) ? { name: 'locked' } : { name: 'login', companies: [] })
}

/** Sends once more what the service has refused: what was missing there may have been put right. */
export async function resendRefused(till: Till): Promise<void> {
  const { chain, store, storage, sync } = till
  const refused = chain.recorder?.records.filter(({ state }) => state === 'refused') ?? []
  await chain.recorder?.note(refused.map(({ key }) => ({ key, state: 'waiting', note: '' })))
  for (const draft of store.get().drafts.filter(({ state }) => state === 'refused'))
    await storage.putDraft({ ...draft, state: 'waiting', note: '' })
  await loadLists(store, storage)
  store.set({ records: chain.recorder?.records ?? [] })
  await sync.run(true)
}
