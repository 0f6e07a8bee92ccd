import { Worker } from 'node:worker_threads'

/** Longest answers of `/health/live`, in ms. */
export interface LiveFigures {
  /** As measured by the client. */
  readonly waited: number
  /**
   * Part of one wait in which the event loop used the CPU, which excludes delays by a busy machine. Equals `waited` if
   * the CPU time is not known.
   */
  readonly stalled: number
}

/** Polls `/health/live` on a thread of its own, so that load of the tests does not count. */
export interface LiveWatch {
  /** Maximum since the last call, including a pending response. */
  worst(): Promise<LiveFigures>
  stop(): Promise<void>
}

const PAUSE_MS = 20
/** Silence after which the process counts as dead. */
const SILENCE_MS = 20_000

const WATCHING = `
const { readFileSync } = require('node:fs')
const { request, Agent } = require('node:http')
const { parentPort, workerData: { url, pid, pause_ms, silence_ms } } = require('node:worker_threads')
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
let [waited, stalled] = [0, 0]
/** CPU time of the thread with the event loop in ms: hashes and compression run on others. */
function computed() {
  try {
    return Number(readFileSync('/proc/' + pid + '/task/' + pid + '/schedstat', 'latin1').split(' ')[0]) / 1e6
  } catch {
    return null
  }
}
const ask = () => new Promise((resolve) => {
  const [began, before] = [performance.now(), computed()]
  const told = (ms, spent) => {
    waited = Math.max(waited, ms)
    stalled = Math.max(stalled, Math.min(ms, spent))
    resolve()
  }
  const end = () => {
    const after = computed()
    told(performance.now() - began, before === null || after === null ? Infinity : after - before)
  }
  const asked = request(url + '/health/live', { agent, timeout: silence_ms }, (response) => response.resume().on('end', end).on('error', end))
  asked.on('timeout', () => asked.destroy()).on('error', () => told(silence_ms, Infinity)).end()
})
let asking
const watch = () => {
  asking = ask()
  void asking.then(() => setTimeout(watch, pause_ms))
}
watch()
parentPort.on('message', async () => {
  // What has stood still until now is told by the answer that is awaited.
  await asking
  parentPort.postMessage({ waited, stalled })
  waited = stalled = 0
})
`

export function watchLive(url: string, pid: number): LiveWatch {
  const workerData = { url, pid, pause_ms: PAUSE_MS, silence_ms: SILENCE_MS }
  const worker = new Worker(WATCHING, { eval: true, workerData, execArgv: [] })
  return {
    worst: () =>
      new Promise((resolve, reject) => {
        worker.once('error', reject)
        worker.once('message', (figures: LiveFigures) => {
          worker.off('error', reject)
          resolve(figures)
        })
        worker.postMessage(null)
      }),
    async stop() {
      await worker.terminate()
    },
  }
}
