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

// The search by camera, where the browser can (PANEL-1362).
if ('BarcodeDetector' in globalThis && navigator.mediaDevices)
  for (const part of document.querySelectorAll('[data-camera]')) if (part instanceof HTMLElement) part.hidden = false

/** Removes the shown confirmation from the address, so that a bookmark or reload does not repeat it. */
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

/** Cents of a Brazilian amount as typed, `1.234,56` or `1234.56`; null if it is none. @param {string} typed */
function typedCents(typed) {
  const text = typed.replace(/^R\$/, '').replace(/\s/g, '')
  const plain =
    text.includes(',') || /^[1-9]\d{0,2}(\.\d{3})+$/.test(text) ? text.replaceAll('.', '').replace(',', '.') : text
  return /^\d+(\.\d{0,2})?$/.test(plain) ? Math.round(Number(plain) * 100) : null
}

/** @param {string} id */
function centsOf(id) {
  const field = document.getElementById(id)
  return field instanceof HTMLInputElement ? typedCents(field.value) : null
}

/** The button of a payment says its sum: what is typed, else what is ticked or open. */
for (const mark of document.querySelectorAll('[data-payment]')) {
  const form = mark.closest('form')
  const button = form?.querySelector('.actions button')
  if (!(mark instanceof HTMLElement) || !form || !button) continue
  /** @param {string} name */
  const typed = (name) => {
    const field = form.elements.namedItem(name)
    return field instanceof HTMLInputElement ? typedCents(field.value) : null
  }
  const chosen = () =>
    [...form.querySelectorAll('input[name^=accounts]:checked')].reduce(
      (sum, box) => sum + Math.round(Number(box instanceof HTMLInputElement ? box.value.split(':')[1] : 0) * 100),
      0,
    )
  const tell = () => {
    const open = mark.dataset.open === undefined ? chosen() : Number(mark.dataset.open)
    const extras = (typed('interest') ?? 0) + (typed('fine') ?? 0) - (typed('discount') ?? 0)
    const cents = typed('received') ?? (open === 0 ? 0 : open + extras)
    const sum = (cents / 100).toLocaleString('pt-BR', { style: 'currency', currency: 'BRL' })
    button.textContent = cents > 0 ? `${mark.dataset.payment} ${sum}` : (mark.dataset.payment ?? '')
  }
  form.addEventListener('input', tell)
  tell()
}

/** Thousandths of a Brazilian quantity as typed; 0 if it is none. @param {string} typed */
function typedThousandths(typed) {
  const text = typed.replace(/\s/g, '')
  const plain =
    text.includes(',') || /^[1-9]\d{0,2}(\.\d{3})+$/.test(text) ? text.replaceAll('.', '').replace(',', '.') : text
  return /^\d{1,9}(\.\d{0,3})?$/.test(plain) ? Math.round(Number(plain) * 1000) : 0
}

// The money of a return follows what is typed, as the service sums it (PANEL-580).
for (const mark of document.querySelectorAll('[data-return]')) {
  const form = mark.closest('form')
  const total = mark.querySelector('[data-return-total]')
  const button = mark.querySelector('button')
  if (!(mark instanceof HTMLElement) || !form || !total || !button) continue
  const { lines, fee, most } = JSON.parse(mark.dataset.return ?? '')
  /** @param {string} name */
  const field = (name) => {
    const found = form.elements.namedItem(name)
    return found instanceof HTMLInputElement ? found : null
  }
  form.addEventListener('input', () => {
    let cents = field('fee')?.checked ? fee : 0
    for (const { name, sold, returned } of lines) {
      const thousandths = typedThousandths(field(name)?.value ?? '')
      const left = Math.max(sold.cents - returned.cents, 0)
      const share = Math.round((sold.cents * thousandths) / sold.thousandths)
      cents += returned.thousandths + thousandths >= sold.thousandths ? left : Math.min(left, share)
    }
    const due = Math.min(cents, most) / 100
    total.textContent = due.toLocaleString('pt-BR', { style: 'currency', currency: 'BRL' })
  })
  button.hidden = true
}

// The margin below the cost follows what is typed (PANEL-532).
document.addEventListener('input', ({ target }) => {
  if (!(target instanceof Element) || !/^campo-(price|cost)$/.test(target.id)) return
  const hint = document.getElementById('campo-cost-dica')
  if (!hint?.textContent?.startsWith('Margem')) return
  const [price, cost] = [centsOf('campo-price'), centsOf('campo-cost')]
  if (price === null || cost === null || price === 0) {
    hint.textContent = price === 0 ? 'Margem: — (preço zerado)' : 'Margem: —'
    return
  }
  const money = ((price - cost) / 100).toLocaleString('pt-BR', { style: 'currency', currency: 'BRL' })
  const share = ((price - cost) / price).toLocaleString('pt-BR', { style: 'percent', minimumFractionDigits: 2 })
  hint.textContent = `Margem: ${money} (${share})${price < cost ? ': preço abaixo do custo' : ''}`
})

/** Ticks what a ticked permission requires, and unticks what requires an unticked one. */
document.addEventListener('change', ({ target }) => {
  if (!(target instanceof HTMLInputElement) || target.type !== 'checkbox' || !target.form) return
  for (const box of target.form.querySelectorAll(`input[type=checkbox][name="${target.name}"]`)) {
    if (!(box instanceof HTMLInputElement)) continue
    if (target.checked && target.dataset.requires?.split(' ').includes(box.value)) box.checked = true
    if (!target.checked && box.dataset.requires?.split(' ').includes(target.value)) box.checked = false
  }
})

// The colour of the shop is picked, and shown on a sample (PANEL-881).
for (const part of document.querySelectorAll('[data-color]')) {
  const text = document.getElementById(part.getAttribute('data-color') ?? '')
  const [picker, sample, button] = ['input', 'rect', 'button'].map((name) => part.querySelector(name))
  if (!(text instanceof HTMLInputElement) || !(picker instanceof HTMLInputElement)) continue
  const show = () => {
    const typed = text.value.trim()
    const color = /^#[0-9a-f]{6}$/i.test(typed) ? typed.toLowerCase() : null
    if (color) picker.value = color
    sample?.setAttribute('fill', color ?? 'none')
    if (!(button instanceof HTMLElement)) return
    button.style.background = button.style.borderColor = color ?? ''
    const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => Number.parseInt(picker.value.slice(at, at + 2), 16))
    button.style.color = color ? (red * 0.299 + green * 0.587 + blue * 0.114 > 150 ? '#000' : '#fff') : ''
  }
  picker.addEventListener('input', () => {
    text.value = picker.value
    show()
  })
  text.addEventListener('input', show)
  if (part instanceof HTMLElement) part.hidden = false
  show()
}

/** Longest side of a converted picture, in pixels. */
const PICTURE_SIDE = 1200
const NOT_DECODED = 'Este navegador não abre esta imagem. Salve como JPG, PNG ou WebP e envie de novo.'

/** A picture as WebP of at most `most` bytes; null if the browser cannot. @param {File} file @param {number} most */
async function asWebp(file, most) {
  const picture = await createImageBitmap(file).catch(() => null)
  if (!picture) return null
  const canvas = document.createElement('canvas')
  for (let side = PICTURE_SIDE; side >= 150; side /= 2) {
    const scale = Math.min(1, side / Math.max(picture.width, picture.height))
    canvas.width = Math.max(1, Math.round(picture.width * scale))
    canvas.height = Math.max(1, Math.round(picture.height * scale))
    canvas.getContext('2d')?.drawImage(picture, 0, 0, canvas.width, canvas.height)
    for (const quality of [0.85, 0.6]) {
      /** @type {Blob | null} */
      const made = await new Promise((done) => canvas.toBlob(done, 'image/webp', quality))
      // A browser that cannot write WebP answers with PNG.
      if (made?.type !== 'image/webp') return null
      if (made.size <= most) return new File([made], 'imagem.webp', { type: made.type })
    }
  }
  return null
}

// A picture is converted before it is sent; the service checks it as any other (PANEL-882).
for (const form of document.querySelectorAll('form[data-picture]')) {
  const [field, told, button] = ['input[type=file]', '.error', 'button'].map((name) => form.querySelector(name))
  if (!(form instanceof HTMLFormElement) || !(field instanceof HTMLInputElement)) continue
  if (!(told instanceof HTMLElement) || !(button instanceof HTMLButtonElement)) continue
  const most = Number(form.dataset.picture)
  field.addEventListener('change', async () => {
    const file = field.files?.[0]
    told.hidden = true
    if (!file || (file.type === 'image/webp' && file.size <= most)) return
    button.disabled = true
    const made = await asWebp(file, most)
    button.disabled = false
    if (field.files?.[0] !== file) return
    if (made) {
      const files = new DataTransfer()
      files.items.add(made)
      field.files = files.files
      return
    }
    field.value = ''
    told.textContent = NOT_DECODED
    told.hidden = false
  })
}

// A scanner types into the field of codes, one product after the other (PANEL-533).
document.getElementById('campo-code')?.focus()

// The scanner's user looks at the shelf: an unknown code sounds, where the browser allows it.
if (document.querySelector('[data-beep]') && typeof AudioContext !== 'undefined') {
  const audio = new AudioContext()
  const tone = audio.createOscillator()
  tone.connect(audio.destination)
  tone.start()
  tone.stop(audio.currentTime + 0.3)
}

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

/** The time machine: its slider leads to the event of its step, and keeps the focus there. */
const slide = () => {
  const slider = document.getElementById('passo')
  if (slider instanceof HTMLInputElement) slider.hidden = false
  return slider
}
slide()
document.addEventListener('htmx:afterSettle', ({ target }) => {
  const slider = slide()
  if (target instanceof HTMLElement && target.id === 'conteudo') slider?.focus()
})
addEventListener(
  'change',
  ({ target }) => {
    if (!(target instanceof HTMLInputElement) || target.dataset.steps === undefined) return
    const moment = target.form?.elements.namedItem('em')
    if (moment instanceof HTMLInputElement)
      moment.value = target.dataset.steps.split(' ')[Number(target.value) - 1] ?? ''
  },
  true,
)

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
