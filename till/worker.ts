/*
 * Service worker: keeps the files of one version on the device and answers from them. The service's interface is never
 * answered from here.
 */

/** Replaced by the build: the files of this version, and their digest. */
declare const FILES: readonly string[]
declare const VERSION: string

interface WorkerScope {
  skipWaiting(): Promise<void>
  readonly clients: { claim(): Promise<void> }
  addEventListener(
    kind: 'install' | 'activate',
    listener: (event: { waitUntil(done: Promise<unknown>): void }) => void,
  ): void
  addEventListener(kind: 'message', listener: (event: { data: unknown }) => void): void
  addEventListener(
    kind: 'fetch',
    listener: (event: { readonly request: Request; respondWith(answer: Promise<Response>): void }) => void,
  ): void
}

const scope = globalThis as unknown as WorkerScope
const CACHE = `caixa-${VERSION}`
const PAGE = '/caixa'

scope.addEventListener('install', (event) => {
  const add = async () =>
    (await caches.open(CACHE)).addAll([PAGE, ...FILES].map((url) => new Request(url, { cache: 'no-cache' })))
  event.waitUntil(add())
})

scope.addEventListener('activate', (event) => {
  const clean = async () => {
    const names = await caches.keys()
    await Promise.all(
      names.filter((name) => name.startsWith('caixa-') && name !== CACHE).map((name) => caches.delete(name)),
    )
    await scope.clients.claim()
  }
  event.waitUntil(clean())
})

scope.addEventListener('message', ({ data }) => {
  if (data === 'take over') void scope.skipWaiting()
})

scope.addEventListener('fetch', (event) => {
  const { request } = event
  const url = new URL(request.url)
  const isPage = request.mode === 'navigate' && url.pathname === PAGE
  if (url.origin !== location.origin || request.method !== 'GET' || !(isPage || FILES.includes(url.pathname))) return
  const answer = async () => {
    const kept = await (await caches.open(CACHE)).match(isPage ? PAGE : url.pathname)
    return kept ?? fetch(request)
  }
  event.respondWith(answer())
})
