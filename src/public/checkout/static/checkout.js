// Small helps for those whose browser runs scripts; the page works without them.

const COPIED_FOR_MS = 2000
const TICK_MS = 5000
/** Where the page cannot be told of changes, it asks. */
const ASK_EVERY_MS = 15_000

/** @type {EventSource | undefined} */
let source
/** When the time to pay is over, on the browser's own clock. @type {number | null} */
let ends = null

/** @param {string} text */
const parse = (text) => new DOMParser().parseFromString(text, 'text/html')

async function refresh() {
  source?.close()
  try {
    const answer = await fetch(location.pathname)
    const main = parse(await answer.text()).querySelector('main')
    if (!answer.ok || !main) throw new Error(`the page was answered ${answer.status}`)
    const before = headingOf()
    document.querySelector('main')?.replaceWith(main)
    const notice = document.getElementById('aviso')
    if (notice && headingOf() !== before) notice.textContent = headingOf()
    begin()
  } catch {
    setTimeout(refresh, ASK_EVERY_MS)
  }
}

const headingOf = () => document.getElementById('estado')?.textContent ?? ''

/** What the page that is there now asks for. */
function begin() {
  for (const button of document.querySelectorAll('button[data-copy]')) button.removeAttribute('hidden')
  const left = document.querySelector('[data-seconds-left]')
  ends = left instanceof HTMLElement ? performance.now() + Number(left.dataset.secondsLeft) * 1000 : null
  const events = document.querySelector('main')?.dataset.events
  if (events === undefined) return
  source = new EventSource(events)
  source.addEventListener('mudou', refresh)
  source.addEventListener('error', () => {
    // Refused, as when too many follow: it is not tried again by itself.
    if (source?.readyState === EventSource.CLOSED) setTimeout(refresh, ASK_EVERY_MS)
  })
}

/** As src/public/checkout-page.tsx writes it. @param {number} seconds */
function timeLeft(seconds) {
  if (seconds >= 7200) return `${Math.floor(seconds / 3600)} horas`
  const minutes = Math.ceil(seconds / 60)
  return minutes === 1 ? '1 minuto' : `${minutes} minutos`
}

setInterval(() => {
  const left = document.querySelector('[data-seconds-left]')
  if (ends === null || !left) return
  const seconds = (ends - performance.now()) / 1000
  if (seconds > 0) left.textContent = timeLeft(seconds)
  else void refresh()
}, TICK_MS)

document.addEventListener('submit', ({ target }) => {
  const button = target instanceof HTMLFormElement ? target.querySelector('button') : null
  if (button) button.disabled = true
})

// Going back brings a page as it was left.
window.addEventListener('pageshow', ({ persisted }) => {
  if (persisted) void refresh()
})

document.addEventListener('click', async ({ target }) => {
  const button = target instanceof Element ? target.closest('button[data-copy]') : null
  const field = button instanceof HTMLElement ? document.getElementById(button.dataset.copy ?? '') : null
  if (!button || !(field instanceof HTMLTextAreaElement)) return
  field.select()
  await navigator.clipboard.writeText(field.value)
  const label = button.textContent
  button.textContent = 'Copiado'
  setTimeout(() => {
    button.textContent = label
  }, COPIED_FOR_MS)
})

begin()
