/**
 * What a page is asked by test/support/browser/keyboard.ts; it runs in the page, as `keyboard`.
 * Elements are told by their number in the list that `start` makes.
 */
;(() => {
  const CANDIDATES =
    'a[href], button, input, select, textarea, summary, audio[controls], video[controls], iframe, [tabindex], [contenteditable=""], [contenteditable="true"]'

  let root = document.body
  /** @type {HTMLElement[]} */
  let listed = []
  /** @type {Map<Element, string>} */
  const unfocused = new Map()

  /** @param {HTMLElement} element */
  function isInteractive(element) {
    if (element.tabIndex < 0 || element.matches(':disabled, [type=hidden]') || element.closest('[inert]')) return false
    return element.checkVisibility({ visibilityProperty: true })
  }

  /** @param {HTMLElement} element */
  function nameOf(element) {
    const label = element instanceof HTMLInputElement ? element.labels?.[0]?.textContent : null
    const text = element.getAttribute('aria-label') || label || element.textContent || element.getAttribute('name')
    return `${element.localName} "${(text ?? '').trim().replace(/\s+/g, ' ').slice(0, 60)}"`
  }

  /** All that shows where the focus is, apart from the outline. @param {Element} element */
  function looksOf(element) {
    const { boxShadow, borderColor, borderWidth, backgroundColor, textDecorationLine } = getComputedStyle(element)
    return [boxShadow, borderColor, borderWidth, backgroundColor, textDecorationLine].join('|')
  }

  /** @param {Element} element */
  function showsFocus(element) {
    const { outlineStyle, outlineWidth } = getComputedStyle(element)
    if (outlineStyle !== 'none' && Number.parseFloat(outlineWidth) > 0) return true
    return looksOf(element) !== unfocused.get(element)
  }

  /** Whether any of it is in the window with nothing before it. @param {HTMLElement} element */
  function isInSight(element) {
    const labels = element instanceof HTMLInputElement ? [...(element.labels ?? [])] : []
    return [element, ...labels].some((shown) => {
      const { left, right, top, bottom } = shown.getClientRects()[0] ?? new DOMRect()
      return [0.1, 0.5, 0.9].some((part) => {
        const hit = document.elementFromPoint(left + (right - left) * part, top + (bottom - top) * part)
        return hit !== null && shown.contains(hit)
      })
    })
  }

  /** @param {HTMLElement} element */
  function isInAnotherRadiosGroup(element) {
    if (!(element instanceof HTMLInputElement) || element.type !== 'radio') return false
    const group = listed.filter(
      (other) => other instanceof HTMLInputElement && other.name === element.name && other.form === element.form,
    )
    const stop = group.find((other) => other instanceof HTMLInputElement && other.checked) ?? group[0]
    return stop !== element
  }

  /** Where the focus is, or null when it has left the part. */
  function focused() {
    const element = document.activeElement
    if (!(element instanceof HTMLElement) || !root.contains(element) || element === root) return null
    const number = listed.indexOf(element)
    return { number, name: nameOf(element), shown: showsFocus(element), inSight: isInSight(element) }
  }

  /** Each stop that was left by a press, since they were asked for. @type {ReturnType<typeof focused>[]} */
  let left = []
  let hasBegun = false

  const keyboard = {
    /** The names of all that has to be reached; a group of radio buttons is one stop. The focus goes before the first. */
    start(/** @type {string} */ part) {
      root = /** @type {HTMLElement} */ (document.querySelector('dialog:modal') ?? document.querySelector(part))
      listed = [.../** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll(CANDIDATES))].filter(isInteractive)
      listed = listed.filter((element) => !isInAnotherRadiosGroup(element))
      root.tabIndex = -1
      root.focus()
      root.removeAttribute('tabindex')
      left = []
      hasBegun = false
      for (const element of listed) unfocused.set(element, looksOf(element))
      return listed.map(nameOf)
    },

    /** The stops of all presses since it was asked, in order. */
    passed() {
      const stops = [...left, focused()]
      left = []
      hasBegun = false
      return stops
    },
  }

  // Before a press moves the focus, it tells where the one before has brought it.
  const told = (/** @type {KeyboardEvent} */ { key }) => {
    if (key !== 'Tab') return
    if (hasBegun) left.push(focused())
    hasBegun = true
  }
  document.addEventListener('keydown', told, true)

  Object.assign(globalThis, { keyboard })
})()
