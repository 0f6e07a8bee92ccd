// Small helps for those whose browser runs scripts; every page works without them.

const COPIED_FOR_MS = 2000

document.addEventListener('click', async ({ target }) => {
  const button = target instanceof Element ? target.closest('[data-copy]') : null
  if (!(button instanceof HTMLElement)) return
  await navigator.clipboard.writeText(button.dataset.copy ?? '')
  const label = button.textContent
  button.textContent = 'Copiado'
  setTimeout(() => {
    button.textContent = label
  }, COPIED_FOR_MS)
})

/** There is nothing to press where nothing would happen. */
for (const button of document.querySelectorAll('[data-print]')) {
  if (button instanceof HTMLElement) button.hidden = false
  button.addEventListener('click', () => print())
}

/** Removes the shown confirmation from the address, so that a bookmark or reload does not repeat it (PANEL-107). */
const here = new URL(location.href)
if (here.searchParams.has('feito')) {
  here.searchParams.delete('feito')
  history.replaceState(history.state, '', here)
}

/** `/` leads to the search, and in what it found the arrows go from one to the next (PANEL-148). */
document.addEventListener('keydown', (event) => {
  const { key, target, ctrlKey, metaKey, altKey } = event
  if (!(target instanceof HTMLElement) || ctrlKey || metaKey || altKey) return
  const search = document.getElementById('busca')
  const isTyping = target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)
  if (key === '/' && !isTyping && search instanceof HTMLInputElement) {
    event.preventDefault()
    search.focus()
    search.select()
  }
  const found = [...document.querySelectorAll('.found a')]
  const at = found.indexOf(target)
  const next = key === 'ArrowDown' ? found[at + 1] : key === 'ArrowUp' ? (found[at - 1] ?? search) : null
  if ((at < 0 && target !== search) || !(next instanceof HTMLElement)) return
  event.preventDefault()
  next.focus()
})

/** Escape closes the open menu and leaves the focus on what opened it. */
document.addEventListener('keydown', ({ key }) => {
  if (key !== 'Escape') return
  for (const menu of document.querySelectorAll('details.more[open]')) {
    if (!(menu instanceof HTMLDetailsElement)) continue
    menu.open = false
    if (menu.contains(document.activeElement)) menu.querySelector('summary')?.focus()
  }
  if (location.hash === '#menu') location.hash = ''
})

/** A form that goes on by itself. */
for (const form of document.querySelectorAll('form[data-sent]')) {
  if (form instanceof HTMLFormElement) form.requestSubmit()
}

follow(document.querySelector('[data-live]'))

/**
 * Tells the page (`mudou`, on its body) when the ledger has moved beyond what it shows: by the connection that all tabs share, or
 * where there are no shared workers, by one of its own for as long as it is in sight.
 * @param {Element | null} part
 */
function follow(part) {
  if (!(part instanceof HTMLElement)) return
  const { live: address = '', worker = '', company = '' } = part.dataset
  let since = Number(part.dataset.since)

  /** @param {number} revision */
  const moved = (revision) => {
    if (revision <= since) return
    since = revision
    document.body.dispatchEvent(new CustomEvent('mudou'))
  }
  if (typeof SharedWorker === 'undefined') return followInSight(address, () => since, moved)
  const { port } = new SharedWorker(worker, { name: `empresa-${company}` })
  port.onmessage = ({ data }) => moved(data)
  const join = () => port.postMessage({ address, since })
  // A page that is kept for going back asks again when it is shown.
  addEventListener('pagehide', () => port.postMessage(null))
  addEventListener('pageshow', ({ persisted }) => persisted && join())
  join()
}

/** @param {string} address @param {() => number} since @param {(revision: number) => void} moved */
function followInSight(address, since, moved) {
  /** @type {EventSource | null} */
  let stream = null
  const look = () => {
    stream?.close()
    stream = null
    if (document.visibilityState !== 'visible') return
    stream = new EventSource(`${address}?desde=${since()}`)
    stream.addEventListener('mudou', ({ data }) => moved(Number(data)))
  }
  document.addEventListener('visibilitychange', look)
  look()
}

/** @type {{ tag: string, words: string, at: number } | null} */
let focused = null

/** What a part has that takes the focus. @param {Element} part */
const stops = (part) => [...part.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')]
/** @param {Element} element */
const wordsOf = (element) => element.getAttribute('href') ?? element.textContent ?? ''

// A part that is put in another's place would leave the keyboard at the start of the page: the focus goes to what was there (PANEL-112).
for (const name of ['htmx:beforeSwap', 'htmx:oobBeforeSwap'])
  document.addEventListener(name, ({ target }) => {
    const element = document.activeElement
    if (!(target instanceof Element) || !element || element === target || !target.contains(element)) return
    focused = { tag: element.tagName, words: wordsOf(element), at: stops(target).indexOf(element) }
  })
for (const name of ['htmx:afterSwap', 'htmx:oobAfterSwap'])
  document.addEventListener(name, (event) => {
    const part = document.getElementById(/** @type {Element} */ (event.target).id)
    if (!focused || !part || (document.activeElement && document.activeElement !== document.body)) return
    const all = stops(part)
    const { tag, words, at } = focused
    const same = all.find((one) => one.tagName === tag && wordsOf(one) === words) ?? all[at]
    focused = null
    if (same instanceof HTMLElement) same.focus({ preventScroll: true })
  })

// The fields of filters stay when their list is replaced: those that the list complains of are marked.
document.addEventListener('htmx:afterSwap', ({ target }) => {
  if (!(target instanceof Element)) return
  for (const field of document.querySelectorAll('.filters [aria-invalid]')) field.removeAttribute('aria-invalid')
  for (const told of document.querySelectorAll('[data-field]'))
    document.getElementById(told.getAttribute('data-field') ?? '')?.setAttribute('aria-invalid', 'true')
})
