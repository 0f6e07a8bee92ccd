import type { Store } from './state.ts'

let waiting: ServiceWorker | null = null

/** Puts the new version in the place of this one; the page loads anew. */
export const takeUpdate = (): void => waiting?.postMessage('take over')

/** Keeps the till on the device, and tells of a new version. */
export async function keepOffline(store: Store): Promise<void> {
  if (!('serviceWorker' in navigator)) return
  const registration = await navigator.serviceWorker.register('/caixa/worker.js', { scope: '/caixa' })
  // The first worker takes over the page that installed it: there is nothing to load anew.
  let hadWorker = navigator.serviceWorker.controller !== null
  navigator.serviceWorker.addEventListener('controllerchange', () => {
    if (hadWorker) location.reload()
    hadWorker = true
  })
  const note = () => {
    waiting = registration.waiting
    store.set({ hasUpdate: waiting !== null && navigator.serviceWorker.controller !== null })
  }
  const watch = () => registration.installing?.addEventListener('statechange', note)
  registration.addEventListener('updatefound', watch)
  watch()
  note()
  setInterval(() => void registration.update().catch(() => {}), HOUR_MS)
}

const HOUR_MS = 3_600_000
