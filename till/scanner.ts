/** Scanners that type: in a field keys on average faster than a person's, ended by Enter. Elsewhere no person types. */
const MEAN_GAP_MS = 60
/** A busy device hands keys on late. */
const LONGEST_GAP_MS = 400
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
  let first = 0
  let last = Number.NEGATIVE_INFINITY
  const listen = (event: KeyboardEvent) => {
    const { key, timeStamp, target } = event
    if (event.ctrlKey || event.altKey || event.metaKey) return
    const isFast = timeStamp - last < LONGEST_GAP_MS
    last = timeStamp
    if (key === 'Enter') {
      const isTyped = isField(target) && timeStamp - first > MEAN_GAP_MS * typed.length
      const code = isFast && !isTyped && typed.length >= SHORTEST_CODE ? typed : ''
      typed = ''
      if (code === '' || (target instanceof HTMLElement && target.dataset.codes !== undefined)) return
      event.preventDefault()
      event.stopPropagation()
      if (isField(target)) fillField(target, before)
      onCode(code)
    } else if (key.length === 1) {
      if (!isFast || typed === '') {
        typed = ''
        first = timeStamp
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
