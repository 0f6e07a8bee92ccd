import { render } from 'preact'
import { App } from './app.tsx'
import { emptyCart } from './cart.ts'
import { newCartId, show, type Till } from './context.ts'
import { openJournal } from './journal.ts'
import { TillContext } from './parts.tsx'
import { createStore, initialState } from './state.ts'
import { openStorage } from './storage.ts'
import { Sync } from './sync.ts'
import { start } from './till-login.ts'
import { keepOffline } from './updates.ts'

/** Replaced by the build. */
declare const JOURNAL_WORKER: string

async function openTill(): Promise<Till> {
  const storage = await openStorage()
  const store = createStore(initialState(emptyCart(newCartId())))
  const chain: Till['chain'] = { recorder: null, key: null }
  const now = Date.now
  const sync = new Sync({ store, storage, recorder: () => chain.recorder, now })
  return { store, storage, journal: openJournal(new Worker(JOURNAL_WORKER)), sync, now, chain }
}

async function main(): Promise<void> {
  const place = document.getElementById('caixa')
  if (!place) return
  const till = await openTill()
  render(
    <TillContext.Provider value={till}>
      <App />
    </TillContext.Provider>,
    place,
  )
  void keepOffline(till.store).catch((error: unknown) => console.warn('till: not kept for offline use', error))
  void navigator.storage.persisted().then((isPersisted) => till.store.set({ isPersisted }))
  addEventListener('online', () => void till.sync.run())
  const oneTab = navigator.locks
  const isFree = (await oneTab.query()).held?.every(({ name }) => name !== LOCK) ?? true
  if (!isFree) show(till, { name: 'other-tab' })
  // Held as long as the page is open: two tabs would number their sales twice.
  await oneTab.request(LOCK, async () => {
    await start(till).catch((error: unknown) => {
      console.warn('till: not started', error)
      show(till, { name: 'failed', message: 'Recarregue a página. As vendas já registradas continuam neste aparelho.' })
    })
    await new Promise(() => {})
  })
}

const LOCK = 'tillbook-caixa'

void main()
