/** Scanners that type: keys faster than a person's, ended by Enter. */
const LONGEST_GAP_MS = 60
/** Where nothing is typed into, no person types: a slow scanner is heard too. */
const LONGEST_GAP_OUTSIDE_MS = 500
const SHORTEST_CODE = 5
const LONGEST_CODE = 2_000

type Field = HTMLInputElement | HTMLTextAreaElement

const isField = (target: EventTarget | null): target is Field =>
  target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement

/**
 * Calls `onCode` for each scan, whatever has the focus; a field that takes codes itself has `data-codes`. What a scanner
 * has typed into another field is taken out of it again.
 */
export function listenToScanner(onCode: (code: string) => void): () => void {
  let typed = ''
  let before = ''
  let last = Number.NEGATIVE_INFINITY
  const listen = (event: KeyboardEvent) => {
    const { key, timeStamp, target } = event
    if (event.ctrlKey || event.altKey || event.metaKey) return
    const isFast = timeStamp - last < (isField(target) ? LONGEST_GAP_MS : LONGEST_GAP_OUTSIDE_MS)
    last = timeStamp
    if (key === 'Enter') {
      const code = isFast && typed.length >= SHORTEST_CODE ? typed : ''
      typed = ''
      if (code === '' || (target instanceof HTMLElement && target.dataset.codes !== undefined)) return
      event.preventDefault()
      event.stopPropagation()
      if (isField(target)) fillField(target, before)
      onCode(code)
    } else if (key.length === 1) {
      if (!isFast) {
        typed = ''
        before = isField(target) ? target.value : ''
      }
      typed = (typed + key).slice(-LONGEST_CODE)
    }
  }
  document.addEventListener('keydown', listen, { capture: true })
  return () => document.removeEventListener('keydown', listen, { capture: true })
}

/** As if it had been typed. */
export function fillField(field: Field, value: string): void {
  field.value = value
  field.dispatchEvent(new Event('input', { bubbles: true }))
}
