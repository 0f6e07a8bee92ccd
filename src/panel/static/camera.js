// Codes read by camera, where the browser can: the button beside a field is shown, and fills it (PANEL-1362).

/** @typedef {new (options: { formats: string[] }) => { detect(source: HTMLVideoElement): Promise<{ rawValue: string }[]> }} DetectorClass */

const Detector = /** @type {{ BarcodeDetector?: DetectorClass }} */ (globalThis).BarcodeDetector
const FORMATS = ['ean_13', 'ean_8', 'upc_a', 'code_128', 'qr_code']
const LOOK_MS = 150
/** What a count keeps until its page is shown again: it goes on with the next product. */
const GOES_ON = 'camera'
const { path, code: before } = JSON.parse(sessionStorage.getItem(GOES_ON) ?? '{}')
sessionStorage.removeItem(GOES_ON)

if (Detector && navigator.mediaDevices)
  for (const button of document.querySelectorAll('[data-scan]')) {
    const field = document.getElementById(button.getAttribute('data-scan') ?? '')
    if (!(button instanceof HTMLButtonElement) || !(field instanceof HTMLInputElement)) continue
    button.hidden = false
    button.addEventListener('click', () => read(button, field, null))
    if (path === location.pathname || button.dataset.begins !== undefined) read(button, field, before)
  }

/**
 * Fills the field with the first code in sight; what was read before has to leave it first.
 * @param {HTMLButtonElement} button @param {HTMLInputElement} field @param {string | null} before
 */
async function read({ dataset }, field, before) {
  const dialog = document.createElement('dialog')
  const video = document.createElement('video')
  const close = document.createElement('button')
  dialog.setAttribute('aria-label', 'Ler código com a câmera')
  video.style.maxWidth = '100%'
  video.muted = video.playsInline = true
  close.textContent = 'Fechar'
  close.addEventListener('click', () => dialog.close())
  dialog.append(video, close)
  document.body.append(dialog)
  dialog.showModal()
  /** @type {MediaStream | null} */
  let stream = null
  dialog.addEventListener('close', () => {
    for (const track of stream?.getTracks() ?? []) track.stop()
    dialog.remove()
  })
  try {
    stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' } })
    video.srcObject = stream
    await video.play()
    const code = await firstCode(video, dialog, before)
    if (code !== null) fill(field, code, dataset.sends !== undefined)
    dialog.close()
  } catch {
    const told = document.createElement('p')
    told.setAttribute('role', 'alert')
    told.textContent = 'Não foi possível usar a câmera. Permita o uso dela no navegador e tente de novo.'
    video.replaceWith(told)
  }
}

/**
 * Null once the dialog is closed.
 * @param {HTMLVideoElement} video @param {HTMLDialogElement} dialog @param {string | null} before
 */
async function firstCode(video, dialog, before) {
  let known = before
  const detector = new /** @type {DetectorClass} */ (Detector)({ formats: FORMATS })
  while (dialog.open) {
    const [found] = await detector.detect(video)
    if (found && found.rawValue !== known && dialog.open) return found.rawValue
    if (!found) known = null
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
  return null
}

/** As if it had been typed. @param {HTMLInputElement} field @param {string} code @param {boolean} sends */
function fill(field, code, sends) {
  field.value = code
  field.dispatchEvent(new Event('input', { bubbles: true }))
  field.focus()
  if (!sends) return
  if (field.form?.method === 'post') sessionStorage.setItem(GOES_ON, JSON.stringify({ path: location.pathname, code }))
  field.form?.requestSubmit()
}
