// One for all tabs of a browser that show a company (PANEL-103): browsers open six connections to a host over HTTP/1.1, and a
// live page that kept one for itself would leave none to the seventh. Tabs tell up to where they are, and hear of what is newer.

const RETRY_MS = 3_000
const RETRY_MOST_MS = 60_000

/** @type {Set<MessagePort>} */
const ports = new Set()
/** @type {EventSource | null} */
let stream = null
let address = ''
let last = 0
let retry_ms = RETRY_MS

function listen() {
  if (stream || ports.size === 0) return
  const opened = new EventSource(`${address}?desde=${last}`)
  stream = opened
  opened.addEventListener('open', () => {
    retry_ms = RETRY_MS
  })
  opened.addEventListener('mudou', ({ data }) => {
    last = Math.max(last, Number(data))
    for (const port of ports) port.postMessage(last)
  })
  // The browser tries again by itself where the connection broke, not where it was refused.
  opened.addEventListener('error', () => {
    if (opened.readyState !== EventSource.CLOSED) return
    stop()
    setTimeout(listen, retry_ms)
    retry_ms = Math.min(retry_ms * 2, RETRY_MOST_MS)
  })
}

function stop() {
  stream?.close()
  stream = null
}

/** @param {MessagePort} port @param {{ address: string, since: number } | null} told null by a tab that is left. */
function heard(port, told) {
  if (!told) {
    ports.delete(port)
    if (ports.size === 0) stop()
    return
  }
  ports.add(port)
  address = told.address
  if (last > told.since) port.postMessage(last)
  // The first tab sets the start of the stream.
  if (!stream) last = Math.max(last, told.since)
  listen()
}

addEventListener('connect', (event) => {
  const [port] = /** @type {MessageEvent} */ (event).ports
  if (port) port.onmessage = ({ data }) => heard(port, data)
})
